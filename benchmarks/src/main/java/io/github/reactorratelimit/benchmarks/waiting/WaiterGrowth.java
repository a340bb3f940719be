package io.github.reactorratelimit.benchmarks.waiting;

import com.sun.management.OperatingSystemMXBean;
import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

/** Keeps lines of one to 64 waiters at each of some keys, who join again when their turn came: processor time per grant. */
final class WaiterGrowth implements BenchmarkGroup {

    private static final int KEYS = 20;
    private static final Duration INTERVAL = Duration.ofMillis(1);
    private static final List<Integer> WAITERS = List.of(1, 4, 16, 64);
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    @Override
    public Group group() {
        String ours = Entrant.OURS.contender().series();
        return new Group(
                "waits-growth",
                "1 to 64 waiters per key: processor time per grant",
                "µs per grant",
                Better.LESS,
                Entrant.ALL.stream()
                        .map(Entrant::contender)
                        .flatMap(each -> WAITERS.stream().map(waiters -> each.at(waiters, waiters + " waiters")))
                        .toList(),
                List.of(Goal.contender(ours + ", 64 waiters", ours + ", 1 waiters", 1.5)),
                "20 keys, 1 000 grants per second each. Processor time of the whole process, divided by the grants.");
    }

    @Override
    public Sample round(Contender contender, Form form) throws InterruptedException {
        LongAdder grants = new LongAdder();
        Disposable.Composite lines = Disposables.composite();
        try (Waiting limiter = Entrant.of(contender).opener().open(KEYS, INTERVAL)) {
            for (int waiter = 0; waiter < (int) contender.x(); waiter++) {
                for (int key = 0; key < KEYS; key++) {
                    Mono<Void> grant = Mono.fromRunnable(grants::increment);
                    lines.add(limiter.guard(key, grant).repeat().subscribe(done -> {}, error -> {}));
                }
            }
            try {
                return measure(grants, form);
            } finally {
                dispose(lines);
            }
        }
    }

    private static Sample measure(LongAdder grants, Form form) throws InterruptedException {
        long millis = millis(form);
        TimeUnit.MILLISECONDS.sleep(millis / 3);
        long before = grants.sum();
        long cpuNanos = SYSTEM.getProcessCpuTime();
        long startNanos = System.nanoTime();
        TimeUnit.MILLISECONDS.sleep(millis);
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        double granted = Math.max(1, grants.sum() - before);
        double usedMicros = (SYSTEM.getProcessCpuTime() - cpuNanos) / 1e3;
        return Sample.of(usedMicros / granted)
                .with("achieved / configured", granted * INTERVAL.toNanos() / 1e9 / KEYS / seconds);
    }

    /** Some cancels of a peer throw. */
    private static void dispose(Disposable.Composite lines) {
        try {
            lines.dispose();
        } catch (RuntimeException ignored) {
            // it is measured elsewhere
        }
    }

    private static long millis(Form form) {
        return switch (form) {
            case TINY -> 100;
            case QUICK -> 900;
            case FULL -> 5_000;
        };
    }

    @Override
    public double expectedSeconds(Form form) {
        return millis(form) * 4 / 3_000.0;
    }
}

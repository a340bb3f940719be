package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Cancels a line of waiters and looks how long the next one would wait: what was given back. Then lets a call time out while it waits:
 * when the timeout fires, and whether the call runs all the same.
 */
final class CancelledWaits implements BenchmarkGroup {

    private static final int WAITERS = 50;
    private static final Duration INTERVAL = Duration.ofMillis(20);
    private static final Duration LONG_INTERVAL = Duration.ofSeconds(1);
    private static final Duration TIMEOUT = Duration.ofMillis(50);
    private static final String FIRES = "timeout of 50 ms fires after ms";
    private static final String RUN = "timed-out calls that ran %";
    private static final String THREW = "cancels that threw %";
    private static final int CALLS = 5;

    @Override
    public Group group() {
        return new Group(
                "waits-cancelled",
                "50 waits of one key cancelled: permits given back",
                "% given back",
                Better.MORE,
                Entrant.ALL.stream().map(Entrant::contender).toList(),
                List.of(
                        Goal.value(Entrant.OURS.contender().name(), 100),
                        Goal.detail(Entrant.OURS.contender().name(), FIRES, 75),
                        Goal.detail(Entrant.OURS.contender().name(), RUN, 0)),
                "Told by how long the next one has to wait. Then five calls that would wait 1 s or more have a timeout of 50 ms.");
    }

    @Override
    public Sample round(Contender contender, Form form) throws InterruptedException {
        Waiting.Opener opener = Entrant.of(contender).opener();
        AtomicInteger threw = new AtomicInteger();
        double share = shareGivenBack(opener, threw);
        AtomicInteger ran = new AtomicInteger();
        double firedMillis = timeoutMillis(opener, ran);
        return Sample.of(100 * share)
                .with(FIRES, firedMillis)
                .with(RUN, 100.0 * ran.get() / CALLS)
                .with(THREW, 100.0 * threw.get() / WAITERS);
    }

    private static double shareGivenBack(Waiting.Opener opener, AtomicInteger threw) {
        try (Waiting limiter = opener.open(1, INTERVAL)) {
            Mono<Integer> call = limiter.guard(0, Mono.just(1));
            call.block();
            List<Disposable> waits = IntStream.range(0, WAITERS)
                    .mapToObj(i -> call.subscribe(value -> {}, error -> {}))
                    .toList();
            for (Disposable wait : waits) {
                try {
                    wait.dispose();
                } catch (RuntimeException e) {
                    threw.incrementAndGet();
                }
            }
            long owedNanos = limiter.untilNext(0).minus(INTERVAL).toNanos();
            double lost = owedNanos / (double) INTERVAL.multipliedBy(WAITERS).toNanos();
            return 1 - Math.min(1, Math.max(0, lost));
        }
    }

    private static double timeoutMillis(Waiting.Opener opener, AtomicInteger ran) throws InterruptedException {
        try (Waiting limiter = opener.open(CALLS, LONG_INTERVAL)) {
            long[] firedNanos = new long[CALLS];
            for (int key = 0; key < CALLS; key++) {
                limiter.guard(key, Mono.just(1)).block();
                long startNanos = System.nanoTime();
                limiter.guard(key, Mono.fromCallable(ran::incrementAndGet))
                        .timeout(TIMEOUT)
                        .onErrorResume(TimeoutException.class, fired -> Mono.empty())
                        .block(LONG_INTERVAL.multipliedBy(4));
                firedNanos[key] = System.nanoTime() - startNanos;
            }
            TimeUnit.NANOSECONDS.sleep(
                    LONG_INTERVAL.multipliedBy(3).dividedBy(2).toNanos());
            return IntStream.range(0, CALLS)
                            .mapToLong(key -> firedNanos[key])
                            .max()
                            .orElseThrow()
                    / 1e6;
        }
    }

    @Override
    public double expectedSeconds(Form form) {
        return 3;
    }
}

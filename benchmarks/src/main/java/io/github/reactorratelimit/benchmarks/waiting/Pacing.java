package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Flux;

/** Paces a source that is always ready and notes when each element leaves. */
final class Pacing implements BenchmarkGroup {

    private static final String GAP_P50 = "gap deviation p50 µs";
    private static final String GAP_P99 = "gap deviation p99 µs";
    private static final String LATE = "last one late by ms";
    private static final int LARGEST_RATE_OF_EVEN_GAPS = 1_000;

    private final int perSecond;

    Pacing(int perSecond) {
        this.perSecond = perSecond;
    }

    @Override
    public Group group() {
        List<Goal> goals = new ArrayList<>();
        for (Pacer pacer : List.of(Pacer.OURS, Pacer.LEAKY)) {
            String ours = pacer.contender().name();
            goals.add(Goal.value(ours, 0.999));
            goals.add(Goal.detail(ours, LATE, 1));
            if (perSecond <= LARGEST_RATE_OF_EVEN_GAPS) {
                goals.add(Goal.detail(ours, GAP_P50, 20));
            }
        }
        return new Group(
                "pacing-" + perSecond,
                "A Flux paced at " + perSecond + " per second: rate achieved",
                "× configured",
                Better.MORE,
                Pacer.ALL.stream().map(Pacer::contender).toList(),
                goals,
                "Gaps are compared with the interval. The last one is due as many intervals after the first as there are"
                        + " elements between them: how late it is, is the drift.");
    }

    @Override
    public Sample round(Contender contender, Form form) {
        Pacer pacer = Pacer.ALL.stream()
                .filter(each -> each.contender().equals(contender))
                .findFirst()
                .orElseThrow();
        int elements = (int) Math.max(10, perSecond * seconds(form));
        long[] leftNanos = new long[elements];
        pacer.pace()
                .apply(Flux.range(0, elements), perSecond)
                .doOnNext(element -> leftNanos[element] = System.nanoTime())
                .blockLast(Duration.ofMinutes(1));
        return sample(leftNanos, TimeUnit.SECONDS.toNanos(1) / perSecond);
    }

    private static Sample sample(long[] leftNanos, long intervalNanos) {
        int gaps = leftNanos.length - 1;
        long tookNanos = leftNanos[gaps] - leftNanos[0];
        long[] deviations = new long[gaps];
        for (int i = 0; i < gaps; i++) {
            deviations[i] = Math.abs(leftNanos[i + 1] - leftNanos[i] - intervalNanos);
        }
        Arrays.sort(deviations);
        return Sample.of((double) gaps * intervalNanos / tookNanos)
                .with(GAP_P50, deviations[gaps / 2] / 1e3)
                .with(GAP_P99, deviations[(int) (gaps * 0.99)] / 1e3)
                .with(LATE, (tookNanos - gaps * intervalNanos) / 1e6);
    }

    private static double seconds(Form form) {
        return switch (form) {
            case TINY -> 0.02;
            case QUICK -> 1.5;
            case FULL -> 10;
        };
    }

    @Override
    public double expectedSeconds(Form form) {
        return seconds(form) * 1.1;
    }
}

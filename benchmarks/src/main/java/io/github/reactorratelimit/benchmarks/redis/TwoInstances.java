package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Two instances ask for one key as fast as they can, under a limit that binds. What they allow together, from a full bucket on, is
 * counted and divided by what the policy allows in that time: {@code capacity + rate * time}.
 */
final class TwoInstances implements Scenario {

    private static final int IN_FLIGHT_OF_EACH = 32;
    private static final Limit LIMIT = Limit.perSecond(2_000);
    private static final Duration LEASE_TIME = Duration.ofSeconds(1);

    private int opened;

    @Override
    public Sample round(RedisBench bench, Entrant entrant, Form form) throws Exception {
        String name = "bound-" + opened++;
        try (Target one = entrant.opener().open(bench, name, 1, LIMIT);
                Target other = entrant.opener().open(bench, name, 1, LIMIT)) {
            LoadTimes times =
                    new LoadTimes(Duration.ZERO, LoadTimes.of(form, false).measured());
            long startNanos = System.nanoTime();
            CompletableFuture<Long> ofOther = CompletableFuture.supplyAsync(() -> allowed(other, times));
            long allowed = allowed(one, times) + ofOther.join();
            Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
            return Sample.of(allowed / bound(took))
                    .with("allowed", (double) allowed)
                    .with("× bound of time + 1 s", allowed / bound(took.plus(LEASE_TIME)));
        }
    }

    private static double bound(Duration time) {
        return LIMIT.capacity()
                + LIMIT.permits() * (double) time.toNanos() / LIMIT.period().toNanos();
    }

    private static long allowed(Target target, LoadTimes times) {
        Load load = new Load(target, 1, IN_FLIGHT_OF_EACH);
        try {
            load.run(times);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        return load.allowed();
    }

    @Override
    public double expectedSeconds(Form form) {
        return LoadTimes.of(form, false).seconds();
    }

    @Override
    public void close() {}
}

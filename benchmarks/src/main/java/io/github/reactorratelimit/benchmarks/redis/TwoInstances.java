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
            Load ofOne = new Load(one, 1, IN_FLIGHT_OF_EACH, true);
            Load ofOther = new Load(other, 1, IN_FLIGHT_OF_EACH, true);
            CompletableFuture<LoadResult> otherDone = CompletableFuture.supplyAsync(() -> run(ofOther, times));
            long unanswered = run(ofOne, times).unanswered() + otherDone.join().unanswered();
            Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
            double allowed = (double) ofOne.allowed() + ofOther.allowed();
            Sample sample = Sample.of(allowed / bound(took))
                    .with("allowed", allowed)
                    .with("× bound of time + 1 s", allowed / bound(took.plus(LEASE_TIME)));
            return LoadResult.withUnanswered(entrant, sample, unanswered);
        }
    }

    private static double bound(Duration time) {
        return LIMIT.capacity()
                + LIMIT.permits() * (double) time.toNanos() / LIMIT.period().toNanos();
    }

    private static LoadResult run(Load load, LoadTimes times) {
        try {
            return load.run(times);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public double expectedSeconds(Form form) {
        return LoadTimes.of(form, false).seconds();
    }

    @Override
    public void close() {}
}

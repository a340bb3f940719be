package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * One key whose limit is a tenth of what the contender is asked. As that depends on how fast it answers, the limit is found by
 * trying before each round; the table shows the share that was allowed.
 */
final class MostlyDenied implements Scenario {

    private static final double ALLOWED = 0.1;
    private static final int TRIALS = 4;
    private static final LoadTimes TRIAL = new LoadTimes(Duration.ofMillis(100), Duration.ofMillis(250));
    private static final int FIRST_PER_SECOND = 10_000;

    private final int inFlight;
    private final Map<String, Double> askedPerSecond = new HashMap<>();
    private int opened;

    MostlyDenied(int inFlight) {
        this.inFlight = inFlight;
    }

    @Override
    public Sample round(RedisBench bench, Entrant entrant, Form form) throws Exception {
        boolean first = !askedPerSecond.containsKey(entrant.name());
        double asked = askedPerSecond.getOrDefault(entrant.name(), FIRST_PER_SECOND / ALLOWED);
        for (int trial = 0; trial < (form == Form.TINY ? 1 : TRIALS); trial++) {
            asked = run(bench, entrant, asked, TRIAL).decisionsPerSecond();
        }
        LoadResult result = run(bench, entrant, asked, LoadTimes.of(form, first));
        askedPerSecond.put(entrant.name(), result.decisionsPerSecond());
        return result.sample(entrant).with("allowed %", 100 * result.allowedShare());
    }

    private LoadResult run(RedisBench bench, Entrant entrant, double asked, LoadTimes times) throws Exception {
        long permits = Math.max(10, Math.round(asked * ALLOWED));
        Limit limit = Limit.perSecond(permits).withCapacity(Math.max(1, permits / 10));
        try (Target target = entrant.opener().open(bench, "denied-" + opened++, 1, limit)) {
            return new Load(target, 1, inFlight).run(times);
        }
    }

    @Override
    public double expectedSeconds(Form form) {
        return LoadTimes.of(form, false).seconds() + TRIALS * TRIAL.seconds();
    }

    @Override
    public void close() {}
}

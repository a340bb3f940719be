package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Keys drawn uniformly, a share of which has nothing left from the start. The state of the keys stays from round to round. */
final class Steady implements Scenario {

    private static final int KEYS_OF_A_TINY_RUN = 100;
    private static final int ONE_IN = 10;

    private final int inFlight;
    private final int keys;
    private final Limit limit;
    private final boolean mostDrained;
    private final Map<String, Target> targets = new HashMap<>();

    private Steady(int inFlight, int keys, Limit limit, boolean mostDrained) {
        this.inFlight = inFlight;
        this.keys = keys;
        this.limit = limit;
        this.mostDrained = mostDrained;
    }

    static Steady allowed(int inFlight, int keys) {
        return new Steady(inFlight, keys, Limit.OPEN, false);
    }

    /** Nine of ten keys have spent their limit. */
    static Steady mostDrained(int inFlight, int keys) {
        return new Steady(inFlight, keys, Limit.SLOW, true);
    }

    @Override
    public Sample round(RedisBench bench, Entrant entrant, Form form) throws Exception {
        int count = form == Form.TINY ? Math.min(keys, KEYS_OF_A_TINY_RUN) : keys;
        Target known = targets.get(entrant.name());
        Target target = known == null ? open(bench, entrant, count) : known;
        return new Load(target, count, inFlight)
                .run(LoadTimes.of(form, known == null))
                .sample(entrant);
    }

    private Target open(RedisBench bench, Entrant entrant, int count) throws Exception {
        Target target = entrant.opener().open(bench, entrant.name(), count, limit);
        targets.put(entrant.name(), target);
        if (mostDrained) {
            drain(target, count);
        }
        return target;
    }

    private void drain(Target target, int count) throws InterruptedException {
        Pipelined.run(count, key -> {
            CompletableFuture<Boolean> done = new CompletableFuture<>();
            if (key % ONE_IN == 0) {
                done.complete(true);
            } else {
                target.ask(key, limit.capacity(), new Completion(done));
            }
            return done;
        });
    }

    @Override
    public double expectedSeconds(Form form) {
        return LoadTimes.of(form, false).seconds();
    }

    @Override
    public void close() {
        targets.values().forEach(Target::close);
        targets.clear();
    }

    private record Completion(CompletableFuture<Boolean> done) implements Answer {

        @Override
        public void decided(boolean allowed) {
            done.complete(allowed);
        }

        @Override
        public void failed(Throwable reason) {
            done.completeExceptionally(reason);
        }
    }
}

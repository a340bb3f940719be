package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.OptionalInt;

/**
 * Whether one process alone, asking at exactly these times, would have been granted all of them: what was denied in
 * between leaves no trace. Every permit too many, by whoever, shows as one that would have had to wait.
 */
final class Conformance {

    private Conformance() {}

    /** The first of the sorted stamps that should have been denied. */
    static OptionalInt firstOverAdmission(RateLimitPolicy policy, long[] stamps) {
        return replay(Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, 0)), stamps);
    }

    private static <S> OptionalInt replay(Algorithm<S> algorithm, long[] stamps) {
        S state = algorithm.fresh();
        for (int i = 0; i < stamps.length; i++) {
            if (algorithm.waitTicks(state, stamps[i], 1) > 0) {
                return OptionalInt.of(i);
            }
            state = algorithm.debit(state, stamps[i], 1);
        }
        return OptionalInt.empty();
    }
}

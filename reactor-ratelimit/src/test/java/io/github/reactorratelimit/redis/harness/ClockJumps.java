package io.github.reactorratelimit.redis.harness;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.ScriptClock;
import io.lettuce.core.api.sync.RedisScriptingCommands;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import org.assertj.core.api.SoftAssertions;

/** The server's clock jumps by an hour, forward and back, while a key is in demand all the time. */
final class ClockJumps {

    private static final List<RateLimitPolicy> POLICIES = List.of(
            TokenBucket.perMinute(60),
            TokenBucket.perMinute(60).stepwise(),
            new Gcra(60, ofMinutes(1), 20),
            LeakyBucket.of(60, Duration.ofMinutes(1)).withQueue(60),
            FixedWindow.of(60, ofMinutes(1)),
            FixedWindow.of(60, ofMinutes(1)).fromFirstRequest(),
            SlidingWindowLog.of(60, ofMinutes(1)),
            SlidingWindowCounter.of(60, ofMinutes(1)),
            Policies.all(TokenBucket.perMinute(60), FixedWindow.of(100, ofMinutes(1))));

    /** How far the server's clock is off, one time after the other. */
    private static final List<Duration> OFFSETS =
            List.of(Duration.ZERO, ofHours(1), Duration.ZERO, ofHours(-1), Duration.ZERO);

    /** Longer than any of these may be locked out: twice its window or fill time. */
    private static final Duration STAY = ofMinutes(4);

    private static final Duration STEP = Duration.ofSeconds(3);
    private static final int ASKS = 6;
    private static final long START_MICROS = 1_800_000_000_000_000L;

    private ClockJumps() {}

    static void run(RedisScriptingCommands<String, String> redis, SoftAssertions failures) {
        System.out.printf("%n%-22s %8s %11s %22s%n", "clock jumps +-1 h", "granted", "bound used", "longest lock-out");
        for (RateLimitPolicy policy : POLICIES) {
            run(policy, new ScriptClock(redis, policy, UUID.randomUUID().toString()), failures);
        }
    }

    private static void run(RateLimitPolicy policy, ScriptClock clock, SoftAssertions failures) {
        long trueMicros = START_MICROS;
        long granted = 0;
        double used = 0;
        long lockedOutMicros = 0;
        for (Duration offset : OFFSETS) {
            LongStream.Builder stamps = LongStream.builder();
            long first = 0;
            for (long end = trueMicros + micros(STAY); trueMicros < end; trueMicros += micros(STEP)) {
                long now = trueMicros + micros(offset);
                long allowed = clock.take(now, ASKS);
                LongStream.range(0, allowed).forEach(one -> stamps.add(now));
                first = first == 0 && allowed > 0 ? trueMicros : first;
            }
            long[] phase = stamps.build().toArray();
            granted += phase.length;
            used = Math.max(used, Sweep.used(policy, phase));
            long lockedOut = (first == 0 ? trueMicros : first) - (trueMicros - micros(STAY));
            lockedOutMicros = Math.max(lockedOutMicros, lockedOut);
            failures.assertThat(phase)
                    .as("granted with the clock off by " + offset + ", " + policy)
                    .isNotEmpty();
        }
        System.out.printf(
                "%-22s %8d %10.1f%% %20d s%n",
                policy.getClass().getSimpleName(), granted, 100 * used, lockedOutMicros / 1_000_000);
        failures.assertThat(used).as("bound used between two jumps, " + policy).isLessThanOrEqualTo(1);
        failures.assertThat(lockedOutMicros)
                .as("lock-out after a jump, " + policy)
                .isLessThanOrEqualTo(micros(ofMinutes(2).plus(STEP)));
    }

    private static long micros(Duration duration) {
        return duration.toNanos() / 1_000;
    }
}

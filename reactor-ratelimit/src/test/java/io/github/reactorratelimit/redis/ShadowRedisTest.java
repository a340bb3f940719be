package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The shadow of a limiter on Redis. Policies recover over hours, so that the time between two calls changes nothing. */
@ExtendWith(RedisExtension.class)
class ShadowRedisTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int TRACES = FULL ? 200 : 10;
    private static final int STEPS = 60;

    private static final class Counting implements RateLimitRecorder {

        final AtomicLong denied = new AtomicLong();
        final AtomicLong shadowDenied = new AtomicLong();
        final AtomicLong shadowDecided = new AtomicLong();
        final AtomicLong failed = new AtomicLong();

        @Override
        public void decided(boolean allowed, long permits) {
            denied.addAndGet(allowed ? 0 : 1);
        }

        @Override
        public void counted(Event event, long permits) {
            if (event == Event.SHADOW_FAILED) {
                failed.incrementAndGet();
            } else if (event == Event.SHADOW_ALLOWED || event == Event.SHADOW_DENIED) {
                shadowDenied.addAndGet(event == Event.SHADOW_DENIED ? 1 : 0);
                shadowDecided.incrementAndGet();
            }
        }
    }

    private static RateLimiter limiter(RedisStore store, RateLimitPolicy policy, Counting counting) {
        return RateLimiter.builder(policy)
                .name("shadow-" + UUID.randomUUID())
                .store(store)
                .recorder(counting)
                .build();
    }

    private static RateLimiter shadowed(
            RedisStore store, RateLimitPolicy policy, RateLimitPolicy shadow, Counting counting) {
        return RateLimiter.builder(policy)
                .name("shadow-" + UUID.randomUUID())
                .store(store)
                .recorder(counting)
                .shadow(shadow)
                .build();
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.of(9, ofHours(10)),
                Gcra.of(7, ofHours(10)),
                FixedWindow.of(8, Duration.ofDays(200)),
                SlidingWindowLog.of(6, ofHours(10)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void shadowCountsWhatTheSamePolicyDeniesLiveOnTheSameTrace(RateLimitPolicy policy, Standalone redis) {
        Random random = new Random(Seeds.of("shadow on Redis of " + policy));
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisStore store = RedisStore.of(connection).withDeadline(PATIENCE);
            for (int i = 0; i < TRACES; i++) {
                List<RateLimitPolicy> live = policies().toList();
                run(store, live.get(random.nextInt(live.size())), policy, random);
            }
        }
    }

    private static void run(RedisStore store, RateLimitPolicy live, RateLimitPolicy policy, Random random) {
        Counting besideLive = new Counting();
        Counting ofAlone = new Counting();
        RateLimiter shadowed = shadowed(store, live, policy, besideLive);
        RateLimiter alone = limiter(store, policy, ofAlone);
        List<Decision[]> refundable = new ArrayList<>();
        int asks = 0;
        for (int step = 0; step < STEPS; step++) {
            String key = "key" + random.nextInt(2);
            int dice = random.nextInt(10);
            if (dice == 0) {
                shadowed.reset(key).then(alone.reset(key)).block(PATIENCE);
                refundable.clear();
            } else if (dice <= 2 && !refundable.isEmpty()) {
                Decision[] pair = refundable.remove(random.nextInt(refundable.size()));
                shadowed.refund(pair[0]).then(alone.refund(pair[1])).block(PATIENCE);
                // A bucket keeps the time between a debit and an earlier refund from a later one; microseconds would
                // decide.
                refundable.clear();
            } else {
                long permits = 1 + random.nextInt(2);
                Decision decided = ask(shadowed, key, permits, dice == 9);
                long expected = ++asks;
                Await.until("the shadow's answer", PATIENCE, () -> besideLive.shadowDecided.get() == expected);
                Decision other = alone.tryAcquire(key, permits).block(PATIENCE);
                if (decided.allowed()) {
                    refundable.add(new Decision[] {decided, other});
                }
            }
        }
        assertThat(besideLive.shadowDenied.get()).as("beside %s", live).isEqualTo(ofAlone.denied.get());
        assertThat(besideLive.failed.get()).isZero();
        shadowed.close().then(alone.close()).block(PATIENCE);
    }

    private static Decision ask(RateLimiter limiter, String key, long permits, boolean wouldWait) {
        Decision decision = (wouldWait
                        ? limiter.acquire(key, permits, Duration.ofMillis(1))
                        : limiter.tryAcquire(key, permits))
                .block(PATIENCE);
        assertThat(decision).isNotNull();
        return decision;
    }

    @Test
    void limitersAskedTogetherAreStillOneStepAndTheirShadowsCount(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisStore store = RedisStore.of(connection).withDeadline(PATIENCE).withHashTag("together");
            Counting counting = new Counting();
            RateLimiter first = shadowed(store, Gcra.of(5, ofHours(10)), Gcra.of(2, ofHours(10)), counting);
            RateLimiter second = shadowed(store, Gcra.of(1, ofHours(10)), Gcra.of(5, ofHours(10)), counting);
            List<RateLimiter.PermitRequest> asks =
                    List.of(RateLimiter.permits(first, "a"), RateLimiter.permits(second, "a"));

            JointDecision taken = RateLimiter.acquireAll(asks).block(PATIENCE);
            assertThat(taken.allowed()).isTrue();
            Await.until("the shadows' answers", PATIENCE, () -> counting.shadowDecided.get() == 2);
            assertThat(counting.shadowDenied).hasValue(0);

            for (int i = 2; i <= 4; i++) {
                assertThat(RateLimiter.acquireAll(asks).block(PATIENCE).allowed())
                        .isFalse();
                long answers = 2L * i;
                Await.until("the shadows' answers", PATIENCE, () -> counting.shadowDecided.get() == answers);
            }
            assertThat(counting.shadowDenied)
                    .as("what the first shadow gave goes back when the second limiter denies")
                    .hasValue(0);
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(4);

            first.refund(taken.decisions().get(0)).block(PATIENCE);
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(5);
        }
    }
}

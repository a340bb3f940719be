package io.github.reactorratelimit.redis.harness;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Mono;

/**
 * What is hammered: a policy, how it is asked, on which kind of store.
 */
enum HammerRow {
    TOKEN_BUCKET(TokenBucket.perSecond(60), Quota.burstAndRate(60, 60, ofSeconds(1))),
    STEPWISE_BUCKET(new TokenBucket(60, 6, ofMillis(100)).stepwise(), Quota.burstAndSteps(60, 6, ofMillis(100))),
    GCRA(new Gcra(200, ofSeconds(3), 70), Quota.burstAndRate(70, 200, ofSeconds(3))),
    GCRA_WAITING(new Gcra(100, ofSeconds(3), 10), Quota.burstAndRate(10, 100, ofSeconds(3)), true),
    EPOCH_WINDOW(
            FixedWindow.of(60 * Scale.SECONDS, Scale.WINDOW), Quota.wholeWindows(60 * Scale.SECONDS, Scale.WINDOW)),
    FIRST_REQUEST_WINDOW(
            FixedWindow.of(60 * Scale.SECONDS, Scale.WINDOW).fromFirstRequest(),
            Quota.windowsFromAnywhere(60 * Scale.SECONDS, Scale.WINDOW)),
    SLIDING_LOG(
            SlidingWindowLog.of(60 * Scale.SECONDS, Scale.WINDOW),
            Quota.windowsFromAnywhere(60 * Scale.SECONDS, Scale.WINDOW)),
    /** Gives one less than the limit to who takes everything: the limit is large enough that this is no loss. */
    SLIDING_COUNTER(
            SlidingWindowCounter.of(200 * Scale.SECONDS, Scale.WINDOW),
            Quota.wholeWindows(200 * Scale.SECONDS, Scale.WINDOW)),
    COMPOSITE(
            Policies.all(
                    TokenBucket.of(60 * Scale.SECONDS, Scale.WINDOW), FixedWindow.of(60 * Scale.SECONDS, Scale.WINDOW)),
            Quota.wholeWindows(60 * Scale.SECONDS, Scale.WINDOW)),
    LEAKY_BUCKET(LeakyBucket.of(100, ofSeconds(3)), Quota.burstAndRate(0, 100, ofSeconds(3)), true),
    LEASED_BUCKET(TokenBucket.perSecond(200), Quota.burstAndRate(200, 200, ofSeconds(1)), false, RedisStore::leasing),
    LEASED_WINDOW(
            FixedWindow.of(200 * Scale.SECONDS, Scale.WINDOW),
            Quota.wholeWindows(200 * Scale.SECONDS, Scale.WINDOW),
            false,
            RedisStore::leasing);

    /** Windows as long as the run allows: what comes late is lost at their ends. */
    private static final class Scale {
        static final int SECONDS = Boolean.getBoolean("ratelimit.tests.full") ? 5 : 1;
        static final Duration WINDOW = ofSeconds(SECONDS);
    }

    private static final Duration MAX_WAIT = ofSeconds(2);

    private final RateLimitPolicy policy;
    private final Quota quota;
    private final boolean waits;
    private final UnaryOperator<RedisStore> store;

    HammerRow(RateLimitPolicy policy, Quota quota) {
        this(policy, quota, false);
    }

    HammerRow(RateLimitPolicy policy, Quota quota, boolean waits) {
        this(policy, quota, waits, UnaryOperator.identity());
    }

    HammerRow(RateLimitPolicy policy, Quota quota, boolean waits, UnaryOperator<RedisStore> store) {
        this.policy = policy;
        this.quota = quota;
        this.waits = waits;
        this.store = store;
    }

    RateLimitPolicy policy() {
        return policy;
    }

    Quota quota() {
        return quota;
    }

    boolean isLeased() {
        return this == LEASED_BUCKET || this == LEASED_WINDOW;
    }

    RedisStore on(RedisStore plain) {
        return store.apply(plain);
    }

    Mono<Decision> ask(RateLimiter limiter, String key) {
        return waits ? limiter.acquire(key, 1, MAX_WAIT) : limiter.tryAcquire(key);
    }
}

package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.server.RedisExtension;
import io.github.reactorratelimit.redis.server.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;

/** Policies of single keys whose registry, or the end of it, is lost while the keys are still there. Nobody hears of anything but from the scripts. */
@ExtendWith(RedisExtension.class)
class LostOwnPoliciesTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";
    private static final TokenBucket TEN = slow(10);

    /** Nothing refills within a test, however long that takes. */
    private static TokenBucket slow(long capacity) {
        return TokenBucket.of(capacity, ofDays(300));
    }

    private final StatefulRedisConnection<String, String> admin;
    private final String name = "lost-" + UUID.randomUUID();
    private final String registry = new RedisKeys("ratelimit", name).ownPolicies();
    private final String version = registry + ":version";
    private final List<RateLimiter> limiters = new ArrayList<>();

    LostOwnPoliciesTest(Standalone redis) {
        this.admin = redis.connect();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        admin.close();
    }

    private RateLimiter process() {
        RateLimiter limiter = RateLimiter.builder(TEN)
                .name(name)
                .store(RedisStore.of(admin).withoutSelfTest().withDeadline(PATIENCE))
                .build();
        limiters.add(limiter);
        return limiter;
    }

    private static void give(RateLimiter limiter, RateLimitPolicy policy) {
        limiter.changePolicy(KEY, policy).block(PATIENCE);
    }

    private static void take(RateLimiter limiter, long permits) {
        assertThat(limiter.tryAcquire(KEY, permits).block(PATIENCE).allowed()).isTrue();
    }

    private static void assertSees(RateLimiter limiter, long limit, long remaining) {
        Decision seen = limiter.peek(KEY).block(PATIENCE);
        assertThat(seen.degraded()).isFalse();
        assertThat(seen.limit()).isEqualTo(limit);
        assertThat(seen.remaining()).isEqualTo(remaining);
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(slow(20), slow(5), SlidingWindowLog.of(20, ofDays(30)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void keyBeginsWithEverythingSpentForAProcessThatNeverKnewOfItsPolicyAndThenForAll(RateLimitPolicy lost) {
        RateLimiter one = process();
        give(one, lost);
        take(one, 4);
        admin.sync().del(registry, version);
        RateLimiter late = process();
        assertSees(late, 10, 0);
        assertSees(one, 10, 0);
        give(late, slow(30));
        assertSees(late, 30, 20);
        assertSees(one, 30, 20);
        assertSees(process(), 30, 20);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void whatWasSpentIsKeptIfAProcessThatKnewOfItsPolicyComesFirst(RateLimitPolicy lost) {
        RateLimiter one = process();
        give(one, lost);
        take(one, 4);
        admin.sync().del(registry, version);
        one.restorePolicy(KEY).block(PATIENCE);
        assertSees(one, 10, 6);
        RateLimiter late = process();
        assertSees(late, 10, 6);
        take(late, 6);
        assertSees(one, 10, 0);
        give(one, slow(30));
        assertSees(late, 30, 20);
    }

    @Test
    void keyThatHadBeenGivenBackBeforeKeepsWhatItSpent() {
        RateLimiter one = process();
        give(one, slow(20));
        take(one, 4);
        one.restorePolicy(KEY).block(PATIENCE);
        admin.sync().del(registry, version);
        assertSees(process(), 10, 6);
        assertSees(one, 10, 6);
    }

    @Test
    void policiesThatAreLostWithoutTheirVersionAreGivenBackToo() {
        RateLimiter one = process();
        give(one, slow(20));
        take(one, 4);
        admin.sync().del(registry);
        assertSees(process(), 10, 0);
        assertSees(one, 10, 0);
    }

    @ParameterizedTest
    @MethodSource("policies")
    void changeBeforeTheOneThatWasLostCountsAgainWithEverythingSpent(RateLimitPolicy lost) {
        RateLimiter one = process();
        give(one, slow(15));
        Map<String, String> before = admin.sync().hgetall(registry);
        String versionBefore = admin.sync().get(version);
        give(one, lost);
        take(one, 4);
        admin.sync().hset(registry, before);
        admin.sync().set(version, versionBefore);
        RateLimiter late = process();
        assertSees(late, 15, 0);
        assertSees(one, 15, 0);
        give(one, slow(40));
        assertSees(one, 40, 25);
        assertSees(late, 40, 25);
        late.restorePolicy(KEY).block(PATIENCE);
        assertSees(one, 10, 0);
        assertThat(admin.sync().hgetall(registry)).isEmpty();
    }

    @Test
    void processThatMadeTheLostChangeCanMakeItOnceMore() {
        RateLimiter one = process();
        give(one, slow(15));
        Map<String, String> before = admin.sync().hgetall(registry);
        String versionBefore = admin.sync().get(version);
        give(one, slow(20));
        take(one, 4);
        admin.sync().hset(registry, before);
        admin.sync().set(version, versionBefore);
        give(one, slow(40));
        assertSees(one, 40, 25);
        assertSees(process(), 40, 25);
    }

    @Test
    void wayBackThatWasLostIsLostOnEveryProcess() {
        RateLimiter one = process();
        give(one, slow(15));
        Map<String, String> before = admin.sync().hgetall(registry);
        String versionBefore = admin.sync().get(version);
        one.restorePolicy(KEY).block(PATIENCE);
        take(one, 4);
        admin.sync().hset(registry, before);
        admin.sync().set(version, versionBefore);
        assertSees(process(), 15, 0);
        assertSees(one, 15, 0);
    }
}

package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.server.Await;
import io.github.reactorratelimit.redis.server.Cluster;
import io.github.reactorratelimit.redis.server.FaultProxy;
import io.github.reactorratelimit.redis.server.RedisExtension;
import io.github.reactorratelimit.redis.server.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;

/** Policies of single keys when those who change them die on the way, connections break, and keys are forgotten. */
@ExtendWith(RedisExtension.class)
class OwnPolicyRecoveryTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    /** The same state is 900 permits under the one policy and 2 under the other. */
    private static final TokenBucket FAST = TokenBucket.of(1_000, ofSeconds(1_000));

    private static final TokenBucket SLOW = TokenBucket.perHour(10);

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> admin;
    private final String name = "recovery-" + UUID.randomUUID();
    private final RedisKeys keys = new RedisKeys("ratelimit", name);
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();

    OwnPolicyRecoveryTest(Standalone redis) {
        this.redis = redis;
        this.admin = redis.connect();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
        admin.close();
    }

    private RateLimiter process(RedisStore store, RateLimitPolicy policy) {
        RateLimiter limiter =
                RateLimiter.builder(policy).name(name).store(store).build();
        limiters.add(limiter);
        return limiter;
    }

    /** One that hears of nothing but from the scripts. */
    private RateLimiter deaf(RateLimitPolicy policy) {
        return process(RedisStore.of(admin).withoutSelfTest().withDeadline(PATIENCE), policy);
    }

    private static Decision take(RateLimiter limiter, long permits) {
        return limiter.tryAcquire(KEY, permits).block(PATIENCE);
    }

    private static Decision look(RateLimiter limiter) {
        return limiter.peek(KEY).block(PATIENCE);
    }

    private void register(long number, boolean given, RateLimitPolicy policy, RateLimitPolicy before) {
        String written = number + "\n" + OwnRecord.format(0, given, policy, before, given ? before : policy);
        admin.sync().hset(keys.ownPolicies(), KEY, written);
        admin.sync().set(keys.ownPolicies() + ":version", Long.toString(number));
    }

    private void forgetNotes() {
        assertThat(admin.sync().del(keys.named(KEY, Ruling.NOTES))).isEqualTo(1);
    }

    @Test
    void changeThatWasOnlyRegisteredIsBroughtToTheKeyByWhoeverReadsOfIt() {
        RateLimiter unaware = deaf(FAST);
        take(unaware, 900);
        register(7, true, SLOW, FAST);
        assertThat(take(unaware, 1).allowed()).isTrue();
        RateLimiter other = deaf(FAST);
        assertThat(look(other).limit()).isEqualTo(10);
        assertThat(take(other, 1).allowed()).isFalse();
        assertThat(take(unaware, 1).allowed()).isFalse();
        unaware.changePolicy(KEY, TokenBucket.of(1_000, ofDays(300))).block(PATIENCE);
        assertThat(look(other).remaining()).isEqualTo(990);
    }

    @Test
    void wayBackThatWasOnlyRegisteredIsFinishedByOthers() {
        RateLimiter one = deaf(SLOW);
        one.changePolicy(KEY, FAST).block(PATIENCE);
        take(one, 900);
        long number = Long.MAX_VALUE >> 12;
        register(number, false, SLOW, FAST);
        RateLimiter other = deaf(SLOW);
        assertThat(look(other).limit()).isEqualTo(10);
        assertThat(look(other).remaining()).isZero();
        assertThat(take(one, 1).allowed()).isFalse();
        assertThat(admin.sync().hlen(keys.ownPolicies())).isEqualTo(1);
        other.restorePolicy(KEY).block(PATIENCE);
        assertThat(admin.sync().hlen(keys.ownPolicies())).isZero();
        assertThat(look(one).remaining()).isZero();
    }

    @Test
    void wayBackThatWasFinishedLongAgoIsNotBroughtToTheKeyAgain() {
        RateLimiter one = deaf(FAST);
        one.changePolicy(KEY, SLOW).block(PATIENCE);
        register(Long.MAX_VALUE >> 12, false, FAST, SLOW);
        RateLimiter late = deaf(FAST);
        late.peek("other").block(PATIENCE);
        one.restorePolicy(KEY).block(PATIENCE);
        forgetNotes();
        take(one, 900);
        assertThat(look(late).remaining()).isBetween(100L, 200L);
        assertThat(look(one).limit()).isEqualTo(1_000);
    }

    @Test
    void keyThatWasForgottenHasItsPolicyStill() {
        RateLimiter one = deaf(SLOW);
        RateLimiter other = deaf(SLOW);
        take(one, 1);
        take(other, 1);
        one.changePolicy(KEY, SlidingWindowLog.of(30, ofDays(1))).block(PATIENCE);
        assertThat(look(other).remaining()).isEqualTo(28);
        forgetAll(keys.named(KEY));
        assertThat(take(one, 3).remaining()).isEqualTo(27);
        assertThat(take(other, 1).remaining()).isEqualTo(26);
        RateLimiter late = deaf(SLOW);
        assertThat(look(late).remaining()).isEqualTo(26);
    }

    @Test
    void processThatHasNotHeardGivesBackWhatAForgottenKeyWasGiven() {
        RateLimiter unaware = deaf(SLOW);
        take(unaware, 1);
        RateLimiter one = deaf(SLOW);
        one.changePolicy(KEY, FAST).block(PATIENCE);
        forgetAll(keys.named(KEY));
        unaware.restorePolicy(KEY).block(PATIENCE);
        assertThat(admin.sync().hlen(keys.ownPolicies())).isZero();
        assertThat(look(one).limit()).isEqualTo(10);
    }

    @Test
    void processThatHasNotHeardOfAnotherGivesAForgottenKeyThePolicyThatItHadBefore() {
        RateLimiter unaware = deaf(SLOW);
        unaware.changePolicy(KEY, FAST).block(PATIENCE);
        RateLimiter one = deaf(SLOW);
        one.changePolicy(KEY, TokenBucket.perHour(20)).block(PATIENCE);
        forgetAll(keys.named(KEY));
        unaware.changePolicy(KEY, FAST).block(PATIENCE);
        assertThat(look(one).limit()).isEqualTo(1_000);
        assertThat(look(deaf(SLOW)).limit()).isEqualTo(1_000);
    }

    @Test
    void registryThatWasLostHasGivenTheKeyBackAndAnotherPolicyCanBeGiven() {
        RateLimiter one = deaf(FAST);
        RateLimiter other = deaf(FAST);
        one.changePolicy(KEY, TokenBucket.perHour(10)).block(PATIENCE);
        take(one, 4);
        look(other);
        admin.sync().del(keys.ownPolicies(), keys.ownPolicies() + ":version");
        one.changePolicy("any", SLOW).block(PATIENCE);
        assertThat(look(one).limit()).isEqualTo(1_000);
        assertThat(look(one).remaining()).isGreaterThanOrEqualTo(996);
        assertThat(look(other).limit()).isEqualTo(1_000);
        take(one, 1_000 - look(one).remaining() + 900);
        other.changePolicy(KEY, SLOW).block(PATIENCE);
        assertThat(look(one).limit()).isEqualTo(10);
        assertThat(look(one).remaining()).isZero();
        assertThat(look(deaf(FAST)).remaining()).isZero();
    }

    @Test
    void redisThatLostEverythingHasNoPolicyOfTheKeyEither() {
        RateLimiter one = deaf(SLOW);
        one.changePolicy(KEY, TokenBucket.perHour(20)).block(PATIENCE);
        forgetAll(keys.named(KEY));
        forgetAll(keys.ownPolicies());
        assertThat(look(one).limit()).isEqualTo(20);
        one.changePolicy("any", FAST).block(PATIENCE);
        assertThat(take(one, 3).remaining()).isEqualTo(7);
        assertThat(look(one).limit()).isEqualTo(10);
    }

    private void forgetAll(String prefix) {
        List<String> all = admin.sync().keys(prefix + "*");
        admin.sync().del(all.toArray(String[]::new));
    }

    @Test
    void processThatWasCutOffFollowsAndTimesWaitersAnewWhenItIsBack() {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE).withDeadline(PATIENCE);
            stores.add(store);
            RateLimiter cutOff = process(store.withoutSelfTest(), TokenBucket.perHour(1));
            take(cutOff, 1);
            CompletableFuture<Decision> waiting =
                    cutOff.acquire(KEY, 1, ofDays(1)).toFuture();
            look(cutOff);
            proxy.refuse();
            deaf(TokenBucket.perHour(1))
                    .changePolicy(KEY, TokenBucket.of(1, ofMillis(20)))
                    .block(PATIENCE);
            assertThat(waiting).isNotDone();
            proxy.pass();
            assertThat(waiting).succeedsWithin(PATIENCE).matches(Decision::allowed);
            limiters.forEach(limiter -> limiter.close().block(PATIENCE));
        }
    }

    @Test
    void processesOnAClusterFollowAndKeepWhatWasSpent(Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RateLimiter one = process(RedisStore.of(connection).withDeadline(PATIENCE), SLOW);
            RateLimiter other = process(RedisStore.of(connection).withDeadline(PATIENCE), SLOW);
            List<String> names = List.of("a", "b", "c", "d");
            names.forEach(key -> other.tryAcquire(key, 3).block(PATIENCE));
            names.forEach(key ->
                    one.changePolicy(key, SlidingWindowLog.of(30, ofDays(1))).block(PATIENCE));
            names.forEach(
                    key -> assertThat(other.tryAcquire(key, 2).block(PATIENCE).remaining())
                            .isEqualTo(25));
            names.forEach(key -> other.restorePolicy(key).block(PATIENCE));
            names.forEach(
                    key -> assertThat(one.tryAcquire(key, 2).block(PATIENCE).remaining())
                            .isEqualTo(3));
            limiters.forEach(limiter -> limiter.close().block(PATIENCE));
        }
    }

    @Test
    void waitersOfAClusterAreTimedAnewOnEveryProcess(Cluster cluster) {
        String[] uris =
                cluster.uris().stream().map(uri -> uri.toURI().toString()).toArray(String[]::new);
        RedisStore store = RedisStore.connectCluster(uris).block(PATIENCE).withDeadline(PATIENCE);
        stores.add(store);
        RedisStore beside = RedisStore.connectCluster(uris).block(PATIENCE).withDeadline(PATIENCE);
        stores.add(beside);
        RateLimiter one = process(store, TokenBucket.perHour(1));
        RateLimiter other = process(beside, TokenBucket.perHour(1));
        take(one, 1);
        CompletableFuture<Decision> waiting = other.acquire(KEY, 1, ofDays(1)).toFuture();
        look(other);
        one.changePolicy(KEY, TokenBucket.of(1, ofMillis(20))).block(PATIENCE);
        assertThat(waiting).succeedsWithin(PATIENCE).matches(Decision::allowed);
        Await.until("it follows", () -> look(other).policy().equals(TokenBucket.of(1, ofMillis(20))));
    }
}

package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A process is a store of its own here; the policies recover too slowly to matter. */
@ExtendWith(RedisExtension.class)
class PolicyEpochTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    private final Standalone redis;
    private final String name = "epochs-" + UUID.randomUUID();
    private final StatefulRedisConnection<String, String> admin;
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();

    PolicyEpochTest(Standalone redis) {
        this.redis = redis;
        this.admin = redis.connect();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
        admin.close();
    }

    /** One that hears of nothing but from the scripts. */
    private RedisStore deaf() {
        return deaf(admin);
    }

    private static RedisStore deaf(StatefulRedisConnection<String, String> connection) {
        return RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE);
    }

    private RedisStore hearing() {
        RedisStore store = RedisStore.connect(redis.uri())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(PATIENCE);
        stores.add(store);
        return store;
    }

    private RateLimiter process(RedisStore store, long epoch, RateLimitPolicy policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .name(name)
                .store(store.withPolicyEpoch(epoch))
                .build();
        limiters.add(limiter);
        return limiter;
    }

    private RateLimiter process(long epoch, RateLimitPolicy policy) {
        return process(deaf(), epoch, policy);
    }

    private static Decision take(RateLimiter limiter, long permits) {
        return limiter.tryAcquire(KEY, permits).block(PATIENCE);
    }

    private static Decision look(RateLimiter limiter) {
        return limiter.peek(KEY).block(PATIENCE);
    }

    private static FixedWindow window(long limit) {
        return FixedWindow.of(limit, ofDays(300)).fromFirstRequest();
    }

    @ParameterizedTest
    @CsvSource({"10, 4, 3, 1", "10, 4, 8, 0", "4, 10, 3, 7", "10, 10, 3, 7"})
    void whatWasSpentIsKeptAndTheOlderProcessFollows(long before, long after, long spent, long remaining) {
        RateLimiter old = process(1, TokenBucket.perHour(before));
        take(old, spent);
        RateLimiter fresh = process(2, TokenBucket.perHour(after));

        assertThat(look(fresh).remaining()).isEqualTo(remaining);
        Decision followed = look(old);
        assertThat(followed.limit()).isEqualTo(after);
        assertThat(followed.remaining()).isEqualTo(remaining);
    }

    @Test
    void whatWasSpentIsKeptUnderAnyOtherAlgorithm() {
        List<RateLimitPolicy> policies = List.of(
                TokenBucket.perHour(10),
                window(20),
                Policies.all(Gcra.of(12, ofHours(1)), window(30)),
                SlidingWindowLog.of(15, ofDays(3)),
                new TokenBucket(25, 1, ofDays(2)).stepwise(),
                Policies.all(window(11), SlidingWindowCounter.of(40, ofDays(9))),
                Gcra.of(9, ofHours(2)),
                SlidingWindowCounter.of(18, ofDays(3)));
        RateLimiter first = process(1, policies.get(0));
        take(first, 3);
        for (int i = 1; i < policies.size(); i++) {
            RateLimiter next = process(i + 1, policies.get(i));
            long capacity = policies.get(i).capacity();
            assertThat(look(next).remaining()).as("%s", policies.get(i)).isEqualTo(capacity - 3);
            assertThat(look(first).remaining()).isEqualTo(capacity - 3);
        }
    }

    @Test
    void rollBackIsAChangeToo() {
        RateLimiter first = process(1, TokenBucket.perHour(10));
        take(first, 3);
        RateLimiter second = process(2, TokenBucket.perHour(4));
        assertThat(take(second, 1).remaining()).isZero();
        RateLimiter third = process(3, TokenBucket.perHour(10));

        assertThat(look(third).remaining()).isEqualTo(6);
        assertThat(take(second, 1)).matches(Decision::allowed).returns(10L, Decision::limit);
        assertThat(look(first).remaining()).isEqualTo(5);
    }

    @Test
    void newerPolicyRulesAProcessThatStartsLater() {
        take(process(2, window(4)), 1);
        RateLimiter late = process(1, window(10));

        assertThat(take(late, 1)).returns(4L, Decision::limit).returns(2L, Decision::remaining);
    }

    @Test
    void processWithoutAnEpochFollowsOnceItIsTold() {
        RateLimiter old = process(0, window(10));
        take(old, 1);
        take(process(1, window(4)), 1);

        assertThat(take(old, 1).limit()).isEqualTo(4);
        assertThat(look(old).limit()).isEqualTo(4);
    }

    @Test
    void firstWhoRegistersAnEpochSaysWhatItMeans() {
        take(process(1, window(4)), 1);

        assertThat(take(process(1, window(10)), 1).limit()).isEqualTo(4);
    }

    @Test
    void asksBeyondTheNewerCapacityAreRefused() {
        RateLimiter old = process(1, window(10));
        take(old, 1);
        take(process(2, window(4)), 1);

        assertThatThrownBy(() -> take(old, 6)).isInstanceOf(PermitsExceedCapacityException.class);
        assertThatThrownBy(() -> take(old, 5))
                .isInstanceOf(PermitsExceedCapacityException.class)
                .hasMessageContaining("at most 4");
        assertThat(look(old).remaining()).isEqualTo(2);
    }

    @Test
    void whatWasTakenUnderTheOlderPolicyIsNotRefundedUnderTheNewer() {
        RateLimiter old = process(1, window(10));
        Decision before = take(old, 8);
        take(process(2, window(4)), 1);
        take(old, 1);

        old.refund(before).block(PATIENCE);

        assertThat(look(old).remaining()).isZero();
    }

    @Test
    void whatWasTakenUnderTheNewerPolicyIsRefunded() {
        RateLimiter old = process(1, window(10));
        take(process(2, window(4)), 1);

        old.refund(take(old, 2)).block(PATIENCE);

        assertThat(look(old).remaining()).isEqualTo(3);
    }

    @Test
    void policiesOfTheirOwnStayWithTheirKeys() {
        List<RateLimiter> processes = new ArrayList<>();
        for (int epoch = 1; epoch <= 2; epoch++) {
            RateLimiter limiter = RateLimiter.builder(window(epoch == 1 ? 10 : 4))
                    .name(name)
                    .store(deaf().withPolicyEpoch(epoch))
                    .policyPerKey(key -> "vip".equals(key) ? Mono.just(window(70)) : Mono.empty(), ofHours(1))
                    .build();
            limiters.add(limiter);
            processes.add(limiter);
            limiter.tryAcquire("vip", 2).block(PATIENCE);
            take(limiter, 1);
        }
        for (RateLimiter limiter : processes) {
            assertThat(limiter.peek("vip").block(PATIENCE).remaining()).isEqualTo(66);
            assertThat(look(limiter).remaining()).isEqualTo(2);
        }
    }

    @Test
    void limitsAskedTogetherFollowToo() {
        RateLimiter old = process(1, window(10));
        RateLimiter beside = RateLimiter.builder(window(100))
                .name(name + "-beside")
                .store(deaf())
                .build();
        limiters.add(beside);
        take(old, 3);
        take(process(2, window(5)), 1);

        assertThat(RateLimiter.acquireAll(List.of(RateLimiter.permits(old, KEY), RateLimiter.permits(beside, KEY)))
                        .block(PATIENCE)
                        .allowed())
                .isTrue();
        assertThat(look(old)).returns(5L, Decision::limit).returns(0L, Decision::remaining);
    }

    @Test
    void unknownEpochIsUnavailableAndSaysSo() {
        RateLimiter old = process(1, window(10));
        take(old, 1);
        take(process(2, window(4)), 1);
        admin.sync().del(new RedisKeys("ratelimit", name).policies());

        assertThat(take(old, 1)).matches(Decision::degraded).matches(denied -> !denied.allowed());
    }

    @Test
    void registryKeepsTheTwoNewest() {
        for (int epoch : new int[] {1, 2, 3, 2, 5, 1}) {
            take(process(epoch, window(10 + epoch)), 1);
        }
        assertThat(admin.sync().get(new RedisKeys("ratelimit", name).policies()))
                .isEqualTo("15," + stored(window(15)) + ",3," + stored(window(13)));
    }

    private static String stored(RateLimitPolicy policy) {
        return PolicyText.format(policy).replace(' ', ';');
    }

    @Test
    void brokenRegistryDoesNotStopALimiter() {
        String key = new RedisKeys("ratelimit", name).policies();
        admin.sync().set(key, "x");

        assertThat(take(process(1, window(10)), 1).remaining()).isEqualTo(9);
        assertThat(admin.sync().get(key)).isEqualTo("x");
    }

    @Test
    void stateDoesNotOutliveItsEpoch() {
        RateLimiter limiter = process(1, window(10));
        look(limiter);
        take(limiter, 1);

        List<Long> ttls = admin.sync().keys("ratelimit:{" + name + ":k}*").stream()
                .sorted()
                .map(key -> admin.sync().pttl(key))
                .toList();
        assertThat(ttls).hasSize(1).allMatch(ttl -> ttl > ofDays(299).toMillis());
    }

    @Test
    void policyBeforeTravelsOnlyWhileItMayMatter() {
        take(process(1, TokenBucket.perHour(10)), 3);
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimitPolicy policy = TokenBucket.perHour(4);
        PolicyVersions versions = settled(policy, time).versions();

        assertThat(versions.script(null).before()).isNotNull();
        time.advanceTimeBy(ofHours(1));
        assertThat(versions.script(null).before()).isNotNull();
        time.advanceTimeBy(ofHours(1).plusMinutes(2));
        assertThat(versions.script(null).before()).isNull();
        assertThat(versions.script(null).version()).isEqualTo(2);
    }

    private VersionedCommands settled(RateLimitPolicy policy, Scheduler time) {
        LimiterSettings settings =
                new LimiterSettings(name, policy, time, Schedulers.parallel(), new RateLimitRecorder() {}, 10, true);
        StoreOptions options = StoreOptions.DEFAULT.withPolicyEpoch(2).withDeadline(PATIENCE);
        VersionedCommands commands = LimiterParts.commands(RedisConnections.of(admin), settings, options);
        Await.until("registry read", () -> commands.versions().isSettled());
        return commands;
    }

    @Test
    void keyThatGetsAPolicyOfItsOwnWhileTheEpochChangesKeepsWhatItSpent() {
        take(process(1, window(10)), 3);
        VersionedCommands commands = settled(TokenBucket.perHour(4), VirtualTimeScheduler.create());

        commands.carryOver(KEY, window(10), window(5)).block(PATIENCE);

        assertThat(commands.send(KEY, window(5), Command.peek(1))
                        .block(PATIENCE)
                        .remaining())
                .isEqualTo(2);
    }

    @Test
    void processesOfAClusterFollow(Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE);
            RateLimiter old = process(store, 1, TokenBucket.perHour(10));
            for (int i = 0; i < 20; i++) {
                old.tryAcquire("key-" + i, 3).block(PATIENCE);
            }
            RateLimiter fresh = process(store, 2, window(4));
            for (int i = 0; i < 20; i++) {
                assertThat(fresh.tryAcquire("key-" + i).block(PATIENCE).remaining())
                        .isZero();
                assertThat(old.tryAcquire("key-" + i).block(PATIENCE).limit()).isEqualTo(4);
            }
            limiters.forEach(limiter -> limiter.close().block(PATIENCE));
        }
    }

    @Test
    void negativeEpochIsRefused() {
        assertThatThrownBy(() -> deaf().withPolicyEpoch(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("epoch must not be negative, was -1");
    }

    @Test
    void decisionIsOneCallWithAndWithoutAnEpoch(@Dedicated Standalone counted) {
        try (StatefulRedisConnection<String, String> connection = counted.connect()) {
            for (int epoch = 0; epoch <= 1; epoch++) {
                RateLimiter limiter = process(deaf(connection).withoutDenialCache(), epoch, window(1_000));
                take(limiter, 1);
                CommandCount count = CommandCount.on(counted);
                for (int i = 0; i < 50; i++) {
                    take(limiter, 1);
                }
                assertThat(count.scripts()).isEqualTo(50);
                limiter.close().block(PATIENCE);
            }
        }
    }

    @Test
    void waitersWithSlotsBookAnewUnderTheNewerPolicy() {
        waitersBookAnew(Gcra.of(1, ofHours(1)), Gcra.of(1, ofMillis(20)));
    }

    @Test
    void waitersOfALeakyBucketBookAnewUnderTheNewerOneWithoutStandingInTheirOwnWay() {
        waitersBookAnew(new LeakyBucket(1, ofHours(1), 3), new LeakyBucket(1, ofMillis(20), 3));
    }

    private void waitersBookAnew(RateLimitPolicy before, RateLimitPolicy after) {
        RateLimiter old = process(hearing(), 1, before);
        List<CompletableFuture<Decision>> waits = new ArrayList<>();
        take(old, 1);
        for (int i = 0; i < 3; i++) {
            waits.add(old.acquire(KEY).toFuture());
        }
        Await.until(
                "slots reserved",
                () -> look(old).retryAfter().orElse(Duration.ZERO).compareTo(ofHours(3)) > 0);

        process(hearing(), 2, after);

        for (CompletableFuture<Decision> wait : waits) {
            assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
        }
    }

    @Test
    void waitersWithSlotsGoOnWaitingWhereTheNewerPolicyHasNone() {
        RateLimiter old = process(hearing(), 1, new LeakyBucket(1, ofHours(1), 100));
        take(old, 1);
        CompletableFuture<Decision> wait = old.acquire(KEY, 2).toFuture();
        Await.until(
                "slot reserved",
                () -> look(old).retryAfter().orElse(Duration.ZERO).compareTo(ofHours(2)) > 0);

        RateLimiter fresh = process(hearing(), 2, window(2));
        Await.until("followed", () -> look(old).limit() == 2);
        assertThat(wait).isNotDone();
        fresh.reset(KEY).block(PATIENCE);

        assertThat(wait).succeedsWithin(PATIENCE).matches(Decision::allowed);
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true", "true, true"})
    void changeUnderLoadNeverAdmitsMoreThanTheNewerPolicyHasLeft(boolean signals, boolean leases) {
        int keys = 50;
        long after = 20;
        RateLimiter old = process(under(signals, leases), 1, TokenBucket.of(1_000, ofDays(300)));
        AtomicIntegerArray underOld = new AtomicIntegerArray(keys);
        AtomicIntegerArray underNew = new AtomicIntegerArray(keys);
        Mono<RateLimiter> fresh = Mono.fromSupplier(() -> process(under(signals, leases), 2, window(after)))
                .cache();
        Flux.range(0, 10_000)
                .flatMap(
                        i -> {
                            int key = (i / 2) % keys;
                            Mono<RateLimiter> asked = i < 300 || i % 2 == 0 ? Mono.just(old) : fresh;
                            return asked.flatMap(limiter -> limiter.tryAcquire("key-" + key))
                                    .filter(Decision::allowed)
                                    .doOnNext(granted ->
                                            (granted.limit() == after ? underNew : underOld).incrementAndGet(key));
                        },
                        64)
                .blockLast(PATIENCE);
        int newGrants = 0;
        for (int key = 0; key < keys; key++) {
            int left = (int) Math.max(0, after - underOld.get(key));
            newGrants += underNew.get(key);
            if (leases) {
                assertThat(underNew.get(key)).isLessThanOrEqualTo(left);
            } else {
                assertThat(underNew.get(key)).isEqualTo(left);
            }
        }
        assertThat(newGrants).isPositive();
        System.out.printf("signals %s, leases %s: %d grants under the newer policy%n", signals, leases, newGrants);
    }

    private RedisStore under(boolean signals, boolean leases) {
        RedisStore store = signals ? hearing() : deaf();
        return leases ? store.leasing() : store;
    }
}

package io.github.reactorratelimit.redis;

import static io.github.reactorratelimit.RateLimiter.permits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiter.PermitRequest;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.testing.redis.Topology;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Several limits at once, in one call where they share a slot. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class JointTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration LONG = Duration.ofDays(100);

    /** None of them recovers during a test. */
    private static final List<RateLimitPolicy> POLICIES = List.of(
            TokenBucket.of(40, LONG),
            FixedWindow.of(50, Duration.ofDays(200)),
            SlidingWindowLog.of(45, LONG),
            SlidingWindowCounter.of(60, Duration.ofDays(200)),
            Gcra.of(55, LONG),
            FixedWindow.monthly(52, ZoneId.of("Asia/Tokyo")),
            TokenBucket.of(48, LONG).stepwise(),
            Policies.all(TokenBucket.of(42, LONG), SlidingWindowLog.of(44, LONG)));

    private static RateLimiter limiter(RedisStore store, RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name("joint-" + UUID.randomUUID())
                .store(store.withDeadline(PATIENCE))
                .build();
    }

    private static JointDecision together(List<PermitRequest> asks) {
        return RateLimiter.acquireAll(asks).block(PATIENCE);
    }

    /** The ordered way, by hand. */
    private static JointDecision oneByOne(List<PermitRequest> asks) {
        List<Decision> decisions = new ArrayList<>();
        for (PermitRequest ask : asks) {
            decisions.add(ask.limiter().tryAcquire(ask.key(), ask.permits()).block(PATIENCE));
            if (!decisions.get(decisions.size() - 1).allowed()) {
                for (int i = 0; i < decisions.size(); i++) {
                    asks.get(i).limiter().refund(decisions.get(i)).block(PATIENCE);
                }
                break;
            }
        }
        return new JointDecision(decisions);
    }

    /** The store has no denial cache: what it says of a dearer ask is less exact than what Redis says. */
    private static void decideAlike(RedisStore store, Topology servers) {
        SplittableRandom random = new SplittableRandom(Seeds.of("jointly and one by one"));
        List<RateLimiter> joint =
                POLICIES.stream().map(policy -> limiter(store, policy)).toList();
        List<RateLimiter> single =
                POLICIES.stream().map(policy -> limiter(store, policy)).toList();
        List<List<PermitRequest>> left = new ArrayList<>();
        List<List<PermitRequest>> right = new ArrayList<>();
        int rounds = 300;
        for (int i = 0; i < rounds; i++) {
            left.add(new ArrayList<>());
            right.add(new ArrayList<>());
            for (int j = random.nextInt(2); j < POLICIES.size(); j += 1 + random.nextInt(3)) {
                String key = "k" + random.nextInt(3);
                long permits = 1 + random.nextInt(3);
                left.get(i).add(new PermitRequest(joint.get(j), key, permits));
                right.get(i).add(new PermitRequest(single.get(j), key, permits));
            }
        }
        CommandCount count = CommandCount.on(servers);
        List<JointDecision> decisions = left.stream().map(JointTest::together).toList();
        long calls = count.scripts();
        for (int i = 0; i < rounds; i++) {
            assertThat(shape(decisions.get(i))).as("round %d", i).isEqualTo(shape(oneByOne(right.get(i))));
        }
        long allowed = decisions.stream().filter(JointDecision::allowed).count();
        System.out.printf("jointly: %d rounds, %d allowed, %d calls%n", rounds, allowed, calls);
        assertThat(allowed).isBetween(rounds / 10L, rounds * 9L / 10);
        assertThat(calls).isLessThan(rounds + 200);
    }

    private static List<List<Object>> shape(JointDecision joint) {
        return joint.decisions().stream()
                .<List<Object>>map(decision ->
                        List.of(decision.allowed(), decision.remaining(), decision.policy(), decision.permits()))
                .toList();
    }

    @Test
    void decidesAsOneByOneOnAStandaloneServer(@Dedicated Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            decideAlike(RedisStore.of(connection).withoutSelfTest().withoutDenialCache(), server);
        }
    }

    @Test
    void decidesAsOneByOneOnAClusterWithATag(@Dedicated Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RedisStore tagged = RedisStore.of(connection).withoutSelfTest().withHashTag("{joint}:" + UUID.randomUUID());
            decideAlike(tagged.withoutDenialCache(), cluster);
        }
    }

    @Test
    void withoutATagOnAClusterTheyAreAskedOneByOne(Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, TokenBucket.of(5, LONG));
            RateLimiter second = limiter(store, TokenBucket.of(1, LONG));
            assertThat(together(List.of(permits(first, "a"), permits(second, "b")))
                            .allowed())
                    .isTrue();
            assertThat(together(List.of(permits(first, "a"), permits(second, "b")))
                            .allowed())
                    .isFalse();
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(4);
        }
    }

    @Test
    void deniedByOneIsOneCallAndCostsNothing(@Dedicated Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, TokenBucket.of(5, LONG));
            RateLimiter second = limiter(store, new LeakyBucket(1, Duration.ofDays(30), 5));
            List<PermitRequest> asks = List.of(permits(first, "a"), permits(second, "b"));
            // Until a limiter has read its policies it is asked alone, and the script of both is not there.
            asks.forEach(ask -> ask.limiter().peek(ask.key()).block(PATIENCE));
            JointDecision taken = together(asks);
            CommandCount count = CommandCount.on(server);
            JointDecision denied = together(asks);
            assertThat(count.scripts()).isEqualTo(1);
            assertThat(denied.allowed()).isFalse();
            assertThat(denied.decisions()).hasSize(2);
            first.refund(denied.decisions().get(0)).block(PATIENCE);
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(4);
            first.refund(taken.decisions().get(0)).block(PATIENCE);
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(5);
        }
    }

    /** Two stores, made one after the other for the same connection. */
    @Test
    void twoStoresOfOneConnectionAreOneCall(@Dedicated Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RateLimiter first = limiter(RedisStore.of(connection).withoutSelfTest(), TokenBucket.of(5, LONG));
            RateLimiter second =
                    limiter(RedisStore.of(connection).withoutSelfTest().withPrefix("other"), FixedWindow.of(5, LONG));
            List<PermitRequest> asks = List.of(permits(first, "a"), permits(second, "b"));
            asks.forEach(ask -> ask.limiter().peek(ask.key()).block(PATIENCE));
            CommandCount count = CommandCount.on(server);
            assertThat(together(asks).allowed()).isTrue();
            assertThat(count.scripts()).isEqualTo(1);
        }
    }

    @Test
    void jointDenialIsKnownToWhoAsksAlone(@Dedicated Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, TokenBucket.of(5, LONG));
            RateLimiter second = limiter(store, TokenBucket.of(1, LONG));
            List<PermitRequest> asks = List.of(permits(first, "a"), permits(second, "b"));
            assertThat(together(asks).allowed()).isTrue();
            assertThat(together(asks).allowed()).isFalse();
            CommandCount count = CommandCount.on(server);
            assertThat(second.tryAcquire("b").block(PATIENCE).allowed()).isFalse();
            assertThat(count.scripts()).isZero();
            assertThat(first.tryAcquire("a").block(PATIENCE).remaining()).isEqualTo(3);
        }
    }

    @Test
    void jointTakeEndsADearerDenialThatIsKnown(Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, TokenBucket.of(5, LONG));
            RateLimiter second = limiter(store, TokenBucket.of(5, LONG));
            assertThat(first.tryAcquire("a", 3).block(PATIENCE).allowed()).isTrue();
            assertThat(first.tryAcquire("a", 4).block(PATIENCE).remaining()).isEqualTo(2);
            assertThat(together(List.of(permits(first, "a"), permits(second, "b")))
                            .allowed())
                    .isTrue();
            Decision denied = first.tryAcquire("a", 4).block(PATIENCE);
            assertThat(denied.allowed()).isFalse();
            assertThat(denied.remaining()).isEqualTo(1);
        }
    }

    @Test
    void pausedKeyDeniesAll(Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, SlidingWindowLog.of(5, LONG));
            RateLimiter second = limiter(store, TokenBucket.of(5, LONG));
            List<PermitRequest> asks = List.of(permits(first, "a"), permits(second, "b"));
            second.pause("b", Duration.ofHours(1)).block(PATIENCE);
            JointDecision denied = together(asks);
            assertThat(denied.allowed()).isFalse();
            assertThat(denied.binding().retryAfter().orElseThrow()).isGreaterThan(Duration.ofMinutes(50));
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(5);
            second.pause("b", Duration.ZERO).block(PATIENCE);
            assertThat(together(asks).allowed()).isTrue();
        }
    }

    @Test
    void sameKeyTwiceIsTakenTwice(Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RateLimiter limiter = limiter(RedisStore.of(connection), TokenBucket.of(3, LONG));
            List<PermitRequest> asks = List.of(permits(limiter, "a"), permits(limiter, "a"));
            assertThat(together(asks).allowed()).isTrue();
            assertThat(together(asks).allowed()).isFalse();
            assertThat(limiter.peek("a").block(PATIENCE).remaining()).isEqualTo(1);
        }
    }

    @Test
    void whoLeavesBeforeTheAnswerComesKeepsNothing(Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, FixedWindow.of(100_000, Duration.ofDays(200)));
            RateLimiter second = limiter(store, FixedWindow.of(100_000, Duration.ofDays(200)));
            Leavers.leave(
                    5_000,
                    i -> RateLimiter.acquireAll(List.of(permits(first, "a"), permits(second, "b"))),
                    taken -> first.refund(taken.decisions().get(0))
                            .then(second.refund(taken.decisions().get(1))));
            Await.until(
                    "all permits back",
                    Leavers.PATIENCE,
                    () -> first.peek("a").block(PATIENCE).remaining() == 100_000
                            && second.peek("b").block(PATIENCE).remaining() == 100_000);
        }
    }

    @Test
    void corruptStateOfOneIsAnErrorAndTheOthersStay(Standalone server) {
        try (StatefulRedisConnection<String, String> connection = server.connect()) {
            RedisStore store = RedisStore.of(connection).withoutSelfTest();
            RateLimiter first = limiter(store, TokenBucket.of(5, LONG));
            RateLimiter second = limiter(store, TokenBucket.of(5, LONG));
            connection.sync().set("ratelimit:{" + second.name() + ":b}", "abc");
            assertThatThrownBy(() -> together(List.of(permits(first, "a"), permits(second, "b"))))
                    .isInstanceOf(RedisCorruptStateException.class);
            assertThat(first.peek("a").block(PATIENCE).remaining()).isEqualTo(5);
        }
    }
}

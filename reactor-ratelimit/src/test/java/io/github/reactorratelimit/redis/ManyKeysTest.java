package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Asks for many keys that are under way together share calls, and harm each other in nothing. */
@ExtendWith(RedisExtension.class)
class ManyKeysTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final RateLimitPolicy POLICY = TokenBucket.perHour(10);

    private static RateLimiter limiter(RedisStore store, RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name("many-" + UUID.randomUUID())
                .store(store.withoutSelfTest())
                .build();
    }

    /** For key i, i + 1 asks in arrival order, all under way together, and what remained after each. */
    private static Map<String, List<Long>> askAll(RateLimiter limiter, int keys, int rounds) {
        Map<String, List<Long>> remaining = new ConcurrentHashMap<>();
        List<Mono<Decision>> asks = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            for (int key = 0; key < keys; key++) {
                String name = "k" + key;
                asks.add(limiter.tryAcquire(name).doOnNext(d -> {
                    List<Long> seen = remaining.computeIfAbsent(name, k -> new ArrayList<>());
                    synchronized (seen) {
                        seen.add(d.allowed() ? d.remaining() : -1);
                    }
                }));
            }
        }
        Flux.fromIterable(asks).flatMap(ask -> ask, asks.size()).blockLast(PATIENCE);
        return remaining;
    }

    /** A new server knows no script. The first call comes before the limiter has read its policies, the second by the short script. */
    private static void teachScripts(RateLimiter limiter) {
        limiter.tryAcquire("warm-up").then(limiter.tryAcquire("warm-up")).block(PATIENCE);
    }

    private static void expectEachItsOwn(Map<String, List<Long>> remaining, int keys) {
        List<Long> downAndDenied = List.of(9L, 8L, 7L, 6L, 5L, 4L, 3L, 2L, 1L, 0L, -1L, -1L);
        assertThat(remaining).hasSize(keys);
        assertThat(remaining)
                .allSatisfy((key, seen) -> assertThat(seen).containsExactlyInAnyOrderElementsOf(downAndDenied));
    }

    @Test
    void eachKeyHasItsOwnDecisions(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RedisStore store = RedisStore.of(connection)
                    .withoutSelfTest()
                    .withDeadline(PATIENCE)
                    .withoutDenialCache();
            RateLimiter together = limiter(store, POLICY);

            expectEachItsOwn(askAll(together, 300, 12), 300);
        }
    }

    @Test
    void takesOfOneKeyAreDecidedInArrivalOrderWhateverTheyCost(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection)
                            .withoutSelfTest()
                            .withDeadline(PATIENCE)
                            .withoutDenialCache(),
                    TokenBucket.perHour(10_000));
            List<Mono<Long>> asks = new ArrayList<>();
            List<Long> expected = new ArrayList<>();
            long left = 10_000;
            for (int i = 0; i < 600; i++) {
                long permits = 1 + (i * i) % 3;
                asks.add(limiter.tryAcquire(i % 7 == 0 ? "other" : "k", permits).map(Decision::remaining));
                if (i % 7 != 0) {
                    left -= permits;
                    expected.add(left);
                }
            }
            List<Long> seen =
                    Flux.mergeSequential(asks, asks.size(), 1).collectList().block(PATIENCE);
            List<Long> ofKey = IntStream.range(0, 600)
                    .filter(i -> i % 7 != 0)
                    .mapToObj(seen::get)
                    .toList();
            assertThat(ofKey.get(0)).isBetween(expected.get(0), expected.get(0) + 1);
            // What refills meanwhile is less than a permit or two, so the order shows.
            for (int i = 1; i < ofKey.size(); i++) {
                assertThat(ofKey.get(i)).as("ask %d", i).isBetween(expected.get(i), expected.get(i) + 5);
            }
            assertThat(ofKey).isSortedAccordingTo((a, b) -> Long.compare(b, a));
        }
    }

    @Test
    void asksForManyKeysShareFewCalls(@Dedicated Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter =
                    limiter(RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE), POLICY);
            teachScripts(limiter);
            CommandCount count = CommandCount.on(redis);
            Long allowed = Flux.range(0, 5_120)
                    .flatMap(i -> limiter.tryAcquire("k" + i), 512)
                    .filter(Decision::allowed)
                    .count()
                    .block(PATIENCE);
            assertThat(allowed).isEqualTo(5_120);
            assertThat(count.scripts()).isLessThanOrEqualTo(5_120 / 16);
            assertThat(count.scripts()).as("big batches are split").isGreaterThanOrEqualTo(5_120 / ScriptCall.MAX_KEYS);
        }
    }

    @Test
    void corruptKeyFailsAlone(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter =
                    limiter(RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE), POLICY);
            limiter.tryAcquire("text").block(PATIENCE);
            limiter.tryAcquire("list").block(PATIENCE);
            String text = stateOf(connection, limiter, "text");
            String list = stateOf(connection, limiter, "list");
            connection.sync().set(text, "abc");
            connection.sync().del(list);
            connection.sync().rpush(list, "abc");
            limiter.tryAcquire("parts").block(PATIENCE);
            String parts = stateOf(connection, limiter, "parts");
            connection.sync().append(parts, " 999999999999999");

            Map<String, String> outcomes = Flux.range(0, 400)
                    .map(i -> i == 100 ? "parts" : i == 200 ? "text" : i == 300 ? "list" : "k" + i)
                    .flatMap(
                            key -> limiter.tryAcquire(key)
                                    .map(d -> d.allowed() ? "allowed" : "denied")
                                    .onErrorResume(e -> Mono.just(e.getClass().getSimpleName()))
                                    .map(outcome -> Map.entry(key, outcome)),
                            400)
                    .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue))
                    .block(PATIENCE);

            assertThat(outcomes.remove("text")).isEqualTo("RedisCorruptStateException");
            assertThat(outcomes.remove("list")).isEqualTo("RedisCorruptStateException");
            assertThat(outcomes.remove("parts")).isEqualTo("denied");
            assertThat(outcomes)
                    .hasSize(397)
                    .allSatisfy((key, outcome) -> assertThat(outcome).isEqualTo("allowed"));
            assertThat(connection.sync().get(text)).isEqualTo("abc");
        }
    }

    private static String stateOf(StatefulRedisConnection<String, String> connection, RateLimiter limiter, String key) {
        return connection
                .sync()
                .keys("ratelimit:{" + limiter.name() + ":" + key + "}*")
                .get(0);
    }

    @Test
    void clientThatIsGoneIsAnsweredByTheMode(Standalone redis) {
        RedisClient client = RedisClient.create(redis.uri());
        RedisStore store = RedisStore.of(client.connect()).whenUnavailable(FailureMode.open());
        RateLimiter limiter = limiter(store, POLICY);
        client.shutdown();
        Decision decision = limiter.tryAcquire("k").block(PATIENCE);
        assertThat(decision.allowed()).isTrue();
        assertThat(decision.degraded()).isTrue();
    }

    @Test
    void pausedKeyIsDeniedAmongOthers(Standalone redis) {
        try (StatefulRedisConnection<String, String> one = redis.connect();
                StatefulRedisConnection<String, String> other = redis.connect()) {
            RateLimiter here = limiter(RedisStore.of(one).withDeadline(PATIENCE), POLICY);
            RateLimiter there = RateLimiter.builder(POLICY)
                    .name(here.name())
                    .store(RedisStore.of(other).withDeadline(PATIENCE))
                    .build();
            there.pause("k7", Duration.ofHours(1)).block(PATIENCE);

            List<String> denied = Flux.range(0, 200)
                    .flatMap(i -> here.tryAcquire("k" + i).map(d -> Map.entry("k" + i, d.allowed())), 200)
                    .filter(answer -> !answer.getValue())
                    .map(Map.Entry::getKey)
                    .collectList()
                    .block(PATIENCE);

            assertThat(denied).containsExactly("k7");
        }
    }

    @Test
    void allWhoTravelTogetherAreDegradedWhenTheDeadlinePasses(Standalone redis) {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisClient client = RedisClient.create(proxy.uri());
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                RateLimiter limiter = limiter(
                        RedisStore.of(connection).withDeadline(ofMillis(200)).whenUnavailable(FailureMode.open()),
                        POLICY);
                limiter.tryAcquire("k").block(PATIENCE);
                proxy.blackHole();
                Long degraded = Flux.range(0, 500)
                        .flatMap(i -> limiter.tryAcquire("k" + i), 500)
                        .filter(d -> d.degraded() && d.allowed())
                        .count()
                        .block(PATIENCE);
                proxy.pass();
                assertThat(degraded).isEqualTo(500);
            } finally {
                client.shutdown(Duration.ZERO, ofSeconds(1));
            }
        }
    }

    @Test
    void keysOfManySlotsAreAskedOnACluster(@Dedicated Cluster cluster) {
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RedisStore store = RedisStore.of(connection)
                    .withoutSelfTest()
                    .withDeadline(PATIENCE)
                    .withoutDenialCache();
            expectEachItsOwn(askAll(limiter(store, POLICY), 100, 12), 100);

            RateLimiter tagged = limiter(store.withHashTag("one"), POLICY);
            teachScripts(tagged);
            CommandCount count = CommandCount.on(cluster);
            expectEachItsOwn(askAll(tagged, 100, 12), 100);
            assertThat(count.scripts()).as("one slot").isLessThanOrEqualTo(1_200 / 16);
        }
    }

    @Test
    void whoBlocksDoesNotKeepTheAnswersOfOthers(Standalone redis) throws InterruptedException {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter limiter = limiter(
                    RedisStore.of(connection).withoutSelfTest().withDeadline(PATIENCE),
                    new Gcra(1_000, Duration.ofHours(1), 1_000));
            int waiting = 8;
            CountDownLatch last = new CountDownLatch(1);
            CountDownLatch released = new CountDownLatch(waiting);
            for (int i = 0; i < waiting; i++) {
                limiter.tryAcquire("k")
                        .flatMap(first -> limiter.tryAcquire("k"))
                        .subscribe(allowed -> {
                            await(last);
                            released.countDown();
                        });
            }
            limiter.tryAcquire("k").flatMap(first -> limiter.tryAcquire("k")).subscribe(allowed -> last.countDown());

            assertThat(released.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            if (!latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("nobody came");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

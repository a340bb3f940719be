package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** A user that lacks one permission: a request either succeeds or leaves Redis as it was, whichever permission it is. */
class HalfWrittenTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration DAY = Duration.ofDays(1);

    private static Standalone redis;

    private final String name = "half-" + UUID.randomUUID();
    private final AtomicLong lost = new AtomicLong();
    private RedisStore store;

    @BeforeAll
    static void start() {
        redis = Standalone.start("user u on >pw resetchannels ~* &* +@all");
    }

    @AfterAll
    static void stop() {
        redis.close();
    }

    @BeforeEach
    void connect() {
        store = RedisStore.connect("redis://u:pw@127.0.0.1:" + redis.uri().getPort())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(PATIENCE);
    }

    @AfterEach
    void close() {
        acl("+@all");
        store.close().block(PATIENCE);
    }

    private static void acl(String rule) {
        redis.server()
                .ask(server -> server.dispatch(
                        CommandType.ACL,
                        new StatusOutput<>(StringCodec.UTF8),
                        new CommandArgs<>(StringCodec.UTF8).addValues("SETUSER", "u", rule)));
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        return RateLimiter.builder(policy)
                .name(name)
                .recorder(new RateLimitRecorder() {
                    @Override
                    public void counted(Event event, long permits) {
                        if (event == Event.REFUND_LOST) {
                            lost.addAndGet(permits);
                        }
                    }
                })
                .store(store)
                .build();
    }

    /** By key: its value, and whether it expires. */
    private Map<String, String> state() {
        return redis.server().ask(server -> {
            Map<String, String> state = new TreeMap<>();
            server.keys("*" + name + "*").forEach(key -> state.put(key, valueOf(server, key)));
            return state;
        });
    }

    private static String valueOf(RedisCommands<String, String> server, String key) {
        return HexFormat.of().formatHex(server.dump(key)) + (server.pttl(key) < 0 ? " for ever" : "");
    }

    /** Returns whether the request failed. */
    private boolean leavesNothingBehind(String missing, Mono<?> request) {
        Map<String, String> before = state();
        acl("-" + missing);
        try {
            request.block(PATIENCE);
            return false;
        } catch (RedisErrorReplyException refused) {
            assertThat(state()).as("without +" + missing).isEqualTo(before);
            return true;
        } finally {
            acl("+" + missing);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rpush", "ltrim", "pexpire", "del"})
    void takeAndRefundOfALog(String missing) {
        RateLimiter limiter = limiter(SlidingWindowLog.of(10, DAY));
        Mono<Decision> take = limiter.tryAcquire("k");
        boolean first = leavesNothingBehind(missing, take);
        Decision older = limiter.tryAcquire("k", 2).block(PATIENCE);
        limiter.tryAcquire("k").block(PATIENCE);
        boolean second = leavesNothingBehind(missing, take);
        boolean refund = leavesNothingBehind(missing, limiter.refund(older));
        assertThat(first || second || refund).as("it matters").isTrue();
        assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rpush", "pexpire", "set"})
    void partsOfOnePolicyAreWrittenTogether(String missing) {
        RateLimiter limiter = limiter(Policies.all(TokenBucket.of(10, DAY), SlidingWindowLog.of(10, DAY)));
        assertThat(leavesNothingBehind(missing, limiter.tryAcquire("k"))).isTrue();
        limiter.tryAcquire("k").block(PATIENCE);
        assertThat(leavesNothingBehind(missing, limiter.tryAcquire("k"))).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rpush", "pexpire", "set"})
    void limitsThatAreRequestedTogetherAreWrittenTogether(String missing) {
        RateLimiter bucket = limiter(TokenBucket.of(10, DAY));
        RateLimiter log = RateLimiter.builder(SlidingWindowLog.of(10, DAY))
                .name(name + ".log")
                .store(store)
                .build();
        bucket.tryAcquire("k").block(PATIENCE);
        log.tryAcquire("k").block(PATIENCE);
        assertThat(leavesNothingBehind(
                        missing,
                        RateLimiter.acquireAll(
                                List.of(RateLimiter.permits(bucket, "k"), RateLimiter.permits(log, "k")))))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"zadd", "pexpire", "zrem"})
    void leasesAndTheirReleases(String missing) {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(5));
        Mono<Lease> acquire = limiter.acquireLease("k", 1, Duration.ZERO);
        boolean first = leavesNothingBehind(missing, acquire);
        acquire.block(PATIENCE);
        Lease held = acquire.block(PATIENCE);
        boolean release = leavesNothingBehind(missing, held.release());
        assertThat(first || release).as("it matters").isTrue();
        assertThat(acquire.block(PATIENCE).decision().allowed()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"zadd", "pexpire", "set"})
    void slotThatIsFreed(String missing) {
        RateLimiter limiter = limiter(TokenBucket.of(1, DAY).withBurst(1));
        RateLimiter other = limiter(TokenBucket.of(1, DAY).withBurst(1));
        limiter.tryAcquire("k").block(PATIENCE);
        Disposable leaves = limiter.acquire("k").subscribe(granted -> {}, closed -> {});
        Await.until("a slot", () -> waitFor(limiter).compareTo(DAY) > 0);
        other.acquire("k").subscribe(granted -> {}, closed -> {});
        Await.until("two slots", () -> waitFor(limiter).compareTo(DAY.multipliedBy(2)) > 0);
        Map<String, String> before = state();
        acl("-" + missing);
        leaves.dispose();
        Await.until("the slot cannot be freed", () -> lost.get() > 0);
        assertThat(state()).as("without +" + missing).isEqualTo(before);
    }

    private static Duration waitFor(RateLimiter limiter) {
        return limiter.peek("k").block(PATIENCE).retryAfter().orElseThrow();
    }

    @Test
    void pauseOfALog() {
        RateLimiter limiter = limiter(SlidingWindowLog.of(10, DAY));
        limiter.tryAcquire("k").block(PATIENCE);
        assertThat(leavesNothingBehind("set", limiter.pause("k", Duration.ofHours(1))))
                .isTrue();
    }
}

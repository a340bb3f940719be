package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Renewals on a virtual clock; the server's own time stands still beside leases of 30 seconds. */
@ExtendWith(RedisExtension.class)
class LeaseKeeperTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration ROUND = ConcurrencyLimit.DEFAULT_LEASE.dividedBy(3);
    private static final ConcurrencyLimit LIMIT = ConcurrencyLimit.of(1_000);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AtomicLong lost = new AtomicLong();
    private final AtomicLong refunded = new AtomicLong();
    private final String name = "keeper-" + UUID.randomUUID();
    private final Standalone server;
    private final StatefulRedisConnection<String, String> connection;
    private final ConcurrencyState state;

    LeaseKeeperTest(@Dedicated Standalone server) {
        this.server = server;
        this.connection = server.connect();
        this.state = open(connection);
    }

    private ConcurrencyState open(StatefulRedisConnection<String, String> on) {
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event == Event.LEASE_LOST) {
                    lost.addAndGet(permits);
                } else if (event == Event.REFUNDED) {
                    refunded.addAndGet(permits);
                }
            }
        };
        LimiterSettings settings =
                new LimiterSettings(name, LIMIT, time, Schedulers.boundedElastic(), recorder, 1_000, true);
        return (ConcurrencyState) RedisStore.of(on)
                .withoutSelfTest()
                .withDeadline(Duration.ofSeconds(9))
                .open(settings);
    }

    @AfterEach
    void close() {
        connection.close();
        time.dispose();
    }

    private static Decision take(ConcurrencyState state, String key, long permits) {
        Decision decision = state.evaluate(key, null, permits).block(PATIENCE);
        assertThat(decision.allowed()).isTrue();
        return decision;
    }

    private String stored(String key) {
        return "ratelimit:{" + name + ":" + key + "}:leases";
    }

    /** The end of the only lease. */
    private double end(String key) {
        return connection.sync().zrangeWithScores(stored(key), -1, -1).get(0).getScore();
    }

    private double firstEnd(String key) {
        Range<Long> ends = Range.from(Range.Boundary.excluding(0L), Range.Boundary.unbounded());
        return connection
                .sync()
                .zrangebyscoreWithScores(stored(key), ends, Limit.from(1))
                .get(0)
                .getScore();
    }

    private void release(Decision decision) {
        state.refund(decision.debit().orElseThrow()).block(PATIENCE);
    }

    @Test
    void leaseIsRenewedThreeTimesInItsTimeAlsoAfterClose() {
        Decision held = take(state, "k", 1);
        for (int i = 0; i < 6; i++) {
            if (i == 3) {
                state.close().block(PATIENCE);
            }
            double before = end("k");
            time.advanceTimeBy(ROUND);
            Await.until("renewal " + i, () -> end("k") > before);
        }
        release(held);
        assertThat(connection.sync().exists(stored("k"))).isZero();
        assertThat(refunded).hasValue(1);
        assertThat(lost).hasValue(0);
    }

    @Test
    void nothingIsScheduledWhereNoLeasesAreHeld() {
        assertThat(state.leases().isRenewing()).isFalse();
        Decision first = take(state, "a", 1);
        Decision second = take(state, "b", 1);
        release(first);
        assertThat(state.leases().isRenewing()).isTrue();
        release(second);
        CommandCount count = CommandCount.on(server);
        time.advanceTimeBy(ROUND);
        assertThat(state.leases().isRenewing()).isFalse();
        assertThat(count.scripts()).isZero();
        take(state, "a", 1);
        assertThat(state.leases().isRenewing()).isTrue();
    }

    @Test
    void leasesOfAKeyAreRenewedTogether() {
        take(state, "warm-up", 1);
        Flux.range(0, 600).flatMap(i -> state.evaluate("k", null, 1), 64).blockLast(PATIENCE);
        double before = firstEnd("k");
        CommandCount count = CommandCount.on(server);
        time.advanceTimeBy(ROUND);
        Await.until("all are renewed", () -> firstEnd("k") > before);
        // 4 to 14 on one machine: which renewals share a call depends on when the replies before them arrive.
        assertThat(count.scripts()).as("calls for 601 leases").isLessThan(601 / 10);
        assertThat(lost).hasValue(0);
    }

    @Test
    void renewalThatFindsALeaseGoneCountsItOnce() {
        Decision gone = take(state, "k", 3);
        take(state, "other", 1);
        connection.sync().del(stored("k"));
        time.advanceTimeBy(ROUND);
        Await.until("the loss", () -> lost.get() == 3);
        time.advanceTimeBy(ROUND);
        release(gone);
        assertThat(lost).hasValue(3);
        assertThat(refunded).hasValue(0);
    }

    @Test
    void releaseThatFindsTheLeaseGoneCountsIt() {
        Decision gone = take(state, "k", 3);
        connection.sync().del(stored("k"));
        release(gone);
        assertThat(lost).hasValue(3);
    }

    @Test
    void resetEndsLeasesWithoutCountingThemAsLost() {
        Decision held = take(state, "k", 3);
        state.reset("k", null).block(PATIENCE);
        time.advanceTimeBy(ROUND);
        release(held);
        assertThat(state.peek("k", null, 1).block(PATIENCE).remaining()).isEqualTo(1_000);
        assertThat(lost).hasValue(0);
    }

    @Test
    void renewalsThatFailAreTriedAgain() {
        RedisClient client = RedisClient.create();
        try (FaultProxy proxy = FaultProxy.before(server.uri());
                StatefulRedisConnection<String, String> through = client.connect(proxy.uri())) {
            ConcurrencyState other = open(through);
            take(other, "k", 1);
            double before = end("k");
            proxy.blackHole();
            List.of(1, 2).forEach(round -> time.advanceTimeBy(ROUND));
            assertThat(end("k")).isEqualTo(before);
            proxy.pass();
            proxy.reset(Duration.ZERO);
            Await.until("renewal after the fault", () -> {
                time.advanceTimeBy(ROUND);
                return end("k") > before;
            });
            assertThat(lost).hasValue(0);
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
        }
    }
}

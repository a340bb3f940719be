package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.scheduler.Schedulers;

/** One slot an hour from now, and what is learned between the look at it and its use. */
@ExtendWith(RedisExtension.class)
class LimitedKeyTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";
    private static final RateLimitPolicy POLICY = Gcra.of(1, ofHours(1)).withBurst(1);

    private final StatefulRedisConnection<String, String> connection;
    private final RedisLimiterState state;
    private final LimitedKey desk;
    private ReservingKey.Slot slot;

    LimitedKeyTest(Standalone redis) {
        connection = redis.connect();
        state = (RedisLimiterState) RedisStore.of(connection)
                .withoutSelfTest()
                .withDeadline(PATIENCE)
                .open(new LimiterSettings(
                        "slots-" + UUID.randomUUID(),
                        POLICY,
                        Schedulers.parallel(),
                        Schedulers.boundedElastic(),
                        RateLimitRecorder.NOOP,
                        10,
                        true));
        desk = state.limited(KEY, null);
    }

    @BeforeEach
    void book() {
        assertThat(state.evaluate(KEY, null, 1).block(PATIENCE).allowed()).isTrue();
        slot = (ReservingKey.Slot) desk.reserve(1, LimiterState.UNBOUNDED).block(PATIENCE);
    }

    @AfterEach
    void close() {
        state.close().block(PATIENCE);
        connection.close();
    }

    private static long debitedAt(Decision used) {
        return used.debit().orElseThrow().atTick();
    }

    @Test
    void slotIsUsedAtItsTimeAndNotBefore() {
        long due = slot.at();

        assertThat(slot.use(due - 1)).isNull();
        assertThat(debitedAt(slot.use(due))).isEqualTo(slot.order());
    }

    /** If it were used, with the pause in the time of its debit, a refund would give back what has flowed back already. */
    @Test
    void slotThatWasFoundDueIsNotUsedOnceAPauseIsHeardOf() {
        long due = slot.at();
        state.pause(KEY, null, ofHours(5), false).block(PATIENCE);
        assertThat(slot.use(due)).as("nobody has heard of the pause").isNotNull();

        desk.refresh().block(PATIENCE);

        assertThat(slot.use(due)).isNull();
        assertThat(slot.at() - due).isGreaterThan(ofHours(4).toNanos());
        assertThat(debitedAt(slot.use(slot.at()))).isGreaterThan(slot.order());
    }

    @Test
    void slotThatWasFoundDueIsNotUsedOnceAResetIsHeardOf() {
        long due = slot.at();
        state.reset(KEY, null).block(PATIENCE);

        desk.refresh().block(PATIENCE);

        assertThat(slot.use(due)).isNull();
        assertThat(slot.isVoid()).isTrue();
    }
}

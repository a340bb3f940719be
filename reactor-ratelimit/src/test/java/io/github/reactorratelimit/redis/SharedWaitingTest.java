package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** Two processes that wait for the same key, seen from outside. Slots lie an hour apart, so nothing happens by itself. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class SharedWaitingTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    private final Standalone redis;
    private final String uri;
    private final String name = "waiting-" + UUID.randomUUID();
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();

    SharedWaitingTest(Standalone redis) {
        this.redis = redis;
        this.uri = redis.uri().toURI().toString();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
    }

    private RateLimiter process(RateLimitPolicy policy) {
        RedisStore store = RedisStore.connect(uri).block(PATIENCE).withDeadline(PATIENCE);
        stores.add(store);
        RateLimiter limiter =
                RateLimiter.builder(policy).name(name).store(store).build();
        limiters.add(limiter);
        return limiter;
    }

    private static RateLimitPolicy hourly() {
        return new LeakyBucket(1, ofHours(1), 100, false);
    }

    /** When the next who comes would leave: so many hours after all who were there. */
    private static long hoursBehindAll(RateLimiter limiter) {
        Duration wait = limiter.peek(KEY).block(PATIENCE).retryAfter().orElse(Duration.ZERO);
        return wait.plusMinutes(59).toHours();
    }

    private static void awaitHoursBehindAll(RateLimiter limiter, long hours) {
        Await.until(hours + " hours behind all", () -> hoursBehindAll(limiter) == hours);
    }

    /** Whether the key has its state and nothing else, and that knows of no slots. */
    private boolean isPlain() {
        try (StatefulRedisConnection<String, String> admin = redis.connect()) {
            List<String> stored = admin.sync().keys("ratelimit:{" + name + ":" + KEY + "}*");
            return stored.size() == 1 && admin.sync().get(stored.get(0)).matches("1\\d+( \\d+)?");
        }
    }

    private static List<Disposable> wait(RateLimiter limiter, int count, long hoursNow) {
        List<Disposable> waits = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            waits.add(limiter.acquire(KEY).onErrorComplete().subscribe());
            awaitHoursBehindAll(limiter, hoursNow + i);
        }
        return waits;
    }

    @Test
    void slotFreedByOneProcessIsTakenByTheOtherWhichWaitsLonger() {
        RateLimiter one = process(hourly());
        RateLimiter other = process(hourly());
        one.tryAcquire(KEY).block(PATIENCE);
        List<Disposable> first = wait(one, 1, 1);
        wait(other, 2, 2);

        first.get(0).dispose();

        awaitHoursBehindAll(one, 3);
    }

    @Test
    void everybodyWhoLeavesLeavesNoTrace() {
        RateLimiter one = process(hourly());
        RateLimiter other = process(hourly());
        one.tryAcquire(KEY).block(PATIENCE);
        List<Disposable> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            all.addAll(wait(one, 1, 1 + 2 * i));
            all.addAll(wait(other, 1, 2 + 2 * i));
        }

        all.forEach(Disposable::dispose);

        awaitHoursBehindAll(other, 1);
    }

    @Test
    void closeGivesSlotsBack() {
        RateLimiter one = process(hourly());
        RateLimiter other = process(hourly());
        one.tryAcquire(KEY).block(PATIENCE);
        wait(one, 5, 1);

        one.close().block(PATIENCE);

        assertThat(hoursBehindAll(other))
                .as("given back before the close is done")
                .isEqualTo(1);
    }

    @Test
    void resetByOneProcessServesThoseWhoWaitInTheOther() {
        RateLimiter one = process(Gcra.of(1, ofHours(1)));
        RateLimiter other = process(Gcra.of(1, ofHours(1)));
        one.tryAcquire(KEY).block(PATIENCE);
        AtomicReference<Decision> served = new AtomicReference<>();
        other.acquire(KEY).subscribe(served::set);
        awaitHoursBehindAll(one, 2);

        one.reset(KEY).block(PATIENCE);

        Await.until("served", () -> served.get() != null);
        assertThat(served.get().allowed()).isTrue();
    }

    @Test
    void pauseByOneProcessMovesThoseWhoWaitInTheOtherAndItsEndBringsThemBack() {
        RateLimiter one = process(Gcra.of(1, ofHours(1)));
        RateLimiter other = process(Gcra.of(1, ofHours(1)));
        one.tryAcquire(KEY).block(PATIENCE);
        AtomicReference<Decision> denied = new AtomicReference<>();
        other.acquire(KEY, 1, ofHours(2)).subscribe(denied::set);
        awaitHoursBehindAll(one, 2);

        one.pause(KEY, ofHours(5)).block(PATIENCE);

        Await.until("denied: it cannot outlast the pause", () -> denied.get() != null);
        assertThat(denied.get().allowed()).isFalse();
        awaitHoursBehindAll(other, 6);
        one.pause(KEY, Duration.ZERO).block(PATIENCE);
        awaitHoursBehindAll(other, 1);
    }

    @Test
    void eightThousandWhoWaitAndLeaveAtRandomLeaveNothingBehind() {
        RateLimiter one = process(new LeakyBucket(1, ofHours(1), 8_500, false));
        one.tryAcquire(KEY).block(PATIENCE);
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 8_000; i++) {
            waits.add(one.acquire(KEY).onErrorComplete().subscribe());
        }
        awaitHoursBehindAll(one, 8_001);

        for (int i = 0; i < waits.size(); i += 2) {
            waits.get(i).dispose();
        }

        awaitHoursBehindAll(one, 4_001);
        waits.forEach(Disposable::dispose);
        awaitHoursBehindAll(one, 1);
    }

    /** In which order those who wait leave. */
    private enum Order {
        FIRST_FIRST {
            @Override
            void apply(List<Disposable> waits) {}
        },
        LAST_FIRST {
            @Override
            void apply(List<Disposable> waits) {
                Collections.reverse(waits);
            }
        },
        RANDOM {
            @Override
            void apply(List<Disposable> waits) {
                Collections.shuffle(waits, new Random(Seeds.of("order in which they leave")));
            }
        };

        abstract void apply(List<Disposable> waits);
    }

    /** Slots half an hour apart, so that ten thousand of them lie within a year. */
    static Stream<Arguments> policiesAndOrders() {
        return Stream.of(
                        new LeakyBucket(2, ofHours(1), 15_000, false),
                        new Gcra(2, ofHours(1), 3),
                        TokenBucket.of(2, ofHours(1)).withBurst(3))
                .flatMap(policy -> Arrays.stream(Order.values()).map(order -> Arguments.of(policy, order)));
    }

    @ParameterizedTest
    @MethodSource("policiesAndOrders")
    void thousandWhoWaitInEachOfTwoProcessesAndLeaveLeaveNothingBehind(RateLimitPolicy policy, Order order) {
        RateLimiter one = process(policy);
        RateLimiter other = process(policy);
        one.tryAcquire(KEY, policy instanceof LeakyBucket ? 1 : 3).block(PATIENCE);
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            waits.add(one.acquire(KEY).onErrorComplete().subscribe());
            waits.add(other.acquire(KEY).onErrorComplete().subscribe());
        }
        awaitHoursBehindAll(one, 1_001);

        order.apply(waits);
        waits.forEach(Disposable::dispose);

        awaitHoursBehindAll(one, 1);
    }

    /** Refunds come between the waiters of two processes, and let some of them leave earlier. */
    @ParameterizedTest
    @MethodSource("policiesAndOrders")
    void refundsBetweenThoseWhoWaitAndLeaveLeaveNothingBehind(RateLimitPolicy policy, Order order) {
        List<RateLimiter> processes = List.of(process(policy), process(policy));
        RateLimiter one = processes.get(0);
        boolean queues = policy instanceof LeakyBucket;
        List<Decision> taken = new ArrayList<>();
        for (int i = 0; i < (queues ? 1 : 3); i++) {
            taken.add(one.tryAcquire(KEY).block(PATIENCE));
        }
        List<Disposable> waits = new ArrayList<>();
        for (int group = 1; group <= 3; group++) {
            for (int i = 0; i < 100; i++) {
                processes.forEach(process ->
                        waits.add(process.acquire(KEY).onErrorComplete().subscribe()));
            }
            awaitHoursBehindAll(one, 100 * group + (queues || group == 1 ? 1 : 0));
            if (group < 3) {
                one.refund(taken.get((group - 1) % taken.size())).block(PATIENCE);
            }
        }

        order.apply(waits);
        waits.forEach(Disposable::dispose);

        awaitHoursBehindAll(one, queues ? 1 : 0);
        Await.until("nothing is reserved", this::isPlain);
        assertThat(one.tryAcquire(KEY).block(PATIENCE).allowed()).isEqualTo(!queues);
    }

    @ParameterizedTest
    @MethodSource("policiesAndOrders")
    void tenThousandWhoLeaveOneProcessWhileTheyStillComeLeaveNothingBehind(RateLimitPolicy policy, Order order) {
        RateLimiter one = process(policy);
        one.tryAcquire(KEY, policy instanceof LeakyBucket ? 1 : 3).block(PATIENCE);
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            waits.add(one.acquire(KEY).onErrorComplete().subscribe());
        }

        order.apply(waits);
        waits.forEach(Disposable::dispose);

        awaitHoursBehindAll(one, 1);
    }
}

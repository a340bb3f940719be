package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.server.Await;
import io.github.reactorratelimit.redis.server.RedisExtension;
import io.github.reactorratelimit.redis.server.Standalone;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** Two processes that wait for the same key, seen from outside. Slots lie an hour apart, so nothing happens by itself. */
@ExtendWith(RedisExtension.class)
class SharedWaitingTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    private final String uri;
    private final String name = "waiting-" + UUID.randomUUID();
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();

    SharedWaitingTest(Standalone redis) {
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
}

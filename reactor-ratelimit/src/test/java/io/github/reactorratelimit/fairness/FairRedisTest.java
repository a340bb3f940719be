package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The same in front of a limit in Redis: shares in slots, whenever they come. */
@ExtendWith(RedisExtension.class)
class FairRedisTest {

    private static final Duration PATIENCE = ofSeconds(60);
    private static final String KEY = "downstream";

    private final RedisStore store;
    private final String name = "fair-" + UUID.randomUUID();

    /** One thread tells everybody, so they are told in the order in which they were granted. */
    private final Scheduler teller = Schedulers.newSingle("fair-teller");

    private final List<String> told = new CopyOnWriteArrayList<>();
    private final List<FairShare> shares = new ArrayList<>();
    private final List<RateLimiter> limiters = new ArrayList<>();

    FairRedisTest(Standalone redis) {
        store = RedisStore.connect(redis.uri().toURI().toString())
                .block(PATIENCE)
                .withDeadline(PATIENCE);
    }

    @AfterEach
    void close() {
        shares.forEach(share -> share.close().block(PATIENCE));
        limiters.forEach(limiter -> limiter.close().block(PATIENCE));
        store.close().block(PATIENCE);
        teller.dispose();
    }

    private RateLimiter limiter(RateLimitPolicy policy) {
        RateLimiter limiter =
                RateLimiter.builder(policy).name(name).store(store).build();
        limiters.add(limiter);
        return limiter;
    }

    private FairShare share(RateLimiter limiter) {
        FairShare share = FairShare.over(limiter, KEY)
                .classes("interactive", "batch")
                .weight("three", 3)
                .scheduler(teller)
                .build();
        shares.add(share);
        return share;
    }

    private Disposable call(FairShare share, String tenant, String callClass, long permits) {
        return share.acquire(tenant, callClass, permits, Duration.ofNanos(Long.MAX_VALUE))
                .subscribe(decision -> told.add(tenant), error -> {});
    }

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(new Gcra(1, ofMillis(2), 1), LeakyBucket.of(1, ofMillis(2)), TokenBucket.of(1, ofMillis(2)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void slotsAreSharedByWeightAndClass(RateLimitPolicy policy) {
        RateLimiter limiter = limiter(policy);
        FairShare share = share(limiter);
        limiter.pause(KEY, ofHours(1)).block(PATIENCE);
        for (int i = 0; i < 100; i++) {
            call(share, "nightly", "batch", 1);
        }
        for (int i = 0; i < 200; i++) {
            call(share, "one", "interactive", 1);
            call(share, "three", "interactive", 1);
        }
        Await.until("all wait", () -> share.queued() == 500);
        limiter.pause(KEY, Duration.ZERO).block(PATIENCE);
        Await.until("200 are told", () -> told.size() >= 200);

        List<String> first = List.copyOf(told).subList(0, 200);
        assertThat(Collections.frequency(first, "nightly")).isEqualTo(20);
        assertThat(Collections.frequency(first, "one")).isBetween(44, 46);
        assertThat(Collections.frequency(first, "three")).isBetween(134, 136);
    }

    @Test
    void callsOfAllCostsAndThoseWhoStayAreServed() {
        FairShare share = share(limiter(TokenBucket.of(1, ofMillis(1)).withBurst(5)));
        List<Disposable> leaving = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            call(share, "stays", i % 2 == 0 ? "batch" : "interactive", 1 + i % 5);
            leaving.add(call(share, "leaves", i % 3 == 0 ? "batch" : "interactive", 1 + i % 4));
        }
        leaving.forEach(Disposable::dispose);
        Await.until("all who stay are told", () -> Collections.frequency(told, "stays") == 100);
        Await.until("nobody waits", () -> share.queued() == 0);
    }

    /** Slots lie an hour apart: what is given back is seen by whoever asks next. */
    @Test
    void everybodyWhoLeavesGivesTheSlotsBack() {
        RateLimiter limiter = limiter(new LeakyBucket(1, ofHours(1), 100, false));
        FairShare share = share(limiter);
        limiter.tryAcquire(KEY).block(PATIENCE);
        List<Disposable> leaving = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            leaving.add(call(share, "t" + i % 5, "batch", 1));
        }
        Await.until("two slots are booked ahead, not fifty", () -> hoursBehindAll(limiter) == 3);
        leaving.forEach(Disposable::dispose);
        Await.until("only the first is left", () -> hoursBehindAll(limiter) == 1);
        assertThat(told).isEmpty();
    }

    private static long hoursBehindAll(RateLimiter limiter) {
        Duration wait = limiter.peek(KEY).block(PATIENCE).retryAfter().orElse(Duration.ZERO);
        return wait.plusMinutes(59).toHours();
    }
}

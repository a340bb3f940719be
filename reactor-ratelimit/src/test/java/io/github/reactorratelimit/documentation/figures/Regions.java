package io.github.reactorratelimit.documentation.figures;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Three regions whose days follow each other share a limit of 100 per second, with real limiters in virtual time. Together
 * they ask for 90 per second, so that whatever is denied is denied only because of how the limit is shared.
 */
final class Regions {

    static final Duration LENGTH = Duration.ofSeconds(120);
    static final int LIMIT = 100;
    private static final int COUNT = 3;
    private static final double MEAN_DEMAND = 30;
    private static final double SWING = 0.9;
    private static final double DAY_SECONDS = 60;
    private static final int LEAST_SHARE = 2;

    private record Request(long atNanos, int region) {}

    /** What passed and what was denied, in order of time. */
    record Outcome(List<Duration> passed, List<Duration> denied) {}

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter[] limiters = new RateLimiter[COUNT];
    private final int[] asked = new int[COUNT];

    private Regions() {}

    /** All regions ask one store. */
    static Outcome together() {
        Regions regions = new Regions();
        Arrays.fill(regions.limiters, regions.limiter(LIMIT));
        return regions.play(LENGTH);
    }

    /** Each has a third of the limit. */
    static Outcome inThirds() {
        Regions regions = new Regions();
        Arrays.setAll(regions.limiters, region -> regions.limiter(LIMIT / COUNT));
        return regions.play(LENGTH);
    }

    /** Each has a share that follows what it asked for lately; those that shrink do so before others grow. */
    static Outcome inSharesMovedEvery(Duration interval) {
        Regions regions = new Regions();
        Arrays.setAll(regions.limiters, region -> regions.limiter(LIMIT / COUNT));
        return regions.play(interval);
    }

    private RateLimiter limiter(int perSecond) {
        return RateLimiter.builder(bucket(perSecond)).scheduler(time).build();
    }

    /** A tenth of a second's worth may come at once. */
    private static TokenBucket bucket(int perSecond) {
        return TokenBucket.perSecond(perSecond).withBurst(Math.max(perSecond / 10, 1));
    }

    private Outcome play(Duration moveEvery) {
        List<Duration> passed = new ArrayList<>();
        List<Duration> denied = new ArrayList<>();
        long nextMove = moveEvery.toNanos();
        for (Request request : requests()) {
            if (request.atNanos >= nextMove) {
                time.advanceTimeBy(Duration.ofNanos(nextMove - time.now(NANOSECONDS)));
                moveShares();
                nextMove += moveEvery.toNanos();
            }
            time.advanceTimeBy(Duration.ofNanos(request.atNanos - time.now(NANOSECONDS)));
            asked[request.region]++;
            Decision decision = Objects.requireNonNull(
                    limiters[request.region].tryAcquire("api").block());
            (decision.allowed() ? passed : denied).add(Duration.ofNanos(request.atNanos));
        }
        time.dispose();
        return new Outcome(passed, denied);
    }

    private void moveShares() {
        int total = Arrays.stream(asked).sum();
        int[] shares = new int[COUNT];
        Arrays.setAll(
                shares, region -> LEAST_SHARE + (int) ((long) asked[region] * (LIMIT - COUNT * LEAST_SHARE) / total));
        Arrays.fill(asked, 0);
        for (boolean grow : new boolean[] {false, true}) {
            for (int region = 0; region < COUNT; region++) {
                TokenBucket now = (TokenBucket) limiters[region].policy();
                TokenBucket next = bucket(shares[region]);
                if (next.refill() > now.refill() == grow) {
                    limiters[region].changePolicy(next).block();
                }
            }
        }
    }

    private static List<Request> requests() {
        PriorityQueue<Request> requests = new PriorityQueue<>((a, b) -> Long.compare(a.atNanos, b.atNanos));
        for (int region = 0; region < COUNT; region++) {
            double at = region * 1e-3;
            while (at < LENGTH.toSeconds()) {
                requests.add(new Request((long) (at * 1e9), region));
                double phase = 2 * Math.PI * (at / DAY_SECONDS + (double) region / COUNT);
                at += 1 / (MEAN_DEMAND * (1 + SWING * Math.sin(phase)));
            }
        }
        List<Request> inOrder = new ArrayList<>();
        for (Request next = requests.poll(); next != null; next = requests.poll()) {
            inOrder.add(next);
        }
        return inOrder;
    }
}

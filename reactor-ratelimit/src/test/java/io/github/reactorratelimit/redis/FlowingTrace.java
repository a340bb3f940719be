package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Settlement;
import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;

/**
 * A random trace of asks, waits, cancels, refunds, reservations and changes of policy for one key of limiters that count together, in
 * real time. What was granted, by the server's clock, has to fit on {@linkplain PaperReigns paper}; everybody who waits leaves, not before
 * the time that was granted, or is denied for a reason.
 */
final class FlowingTrace {

    private static final Duration PATIENCE = Await.LONG;
    private static final String KEY = "k";
    private static final int STEPS = 60;
    private static final long MAX_CAPACITY = 8;

    /** With it who waits leaves under another bucket, or not at all. */
    private static final long AN_HOUR_MICROS = 3_600_000_000L;

    private static final PaperReigns.Bucket LAST = new PaperReigns.Bucket(MAX_CAPACITY, 50, false);

    private record Refundable(RateLimiter limiter, Decision decision, PaperReigns.Grant grant) {}

    private record Open(Reservation reservation, PaperReigns.Grant grant) {}

    /** Somebody who waits, and how that ended. */
    private final class Waiting extends BaseSubscriber<Decision> {

        final RateLimiter limiter;
        final long permits;
        final boolean isPatient;
        final int arrivedIn;
        volatile boolean hasLeft;

        Waiting(RateLimiter limiter, long permits, boolean isPatient, int arrivedIn) {
            this.limiter = limiter;
            this.permits = permits;
            this.isPatient = isPatient;
            this.arrivedIn = arrivedIn;
        }

        /** Also if it comes at the moment of leaving. */
        @Override
        protected void hookOnNext(Decision decision) {
            afterwards(this, decision, null);
        }

        @Override
        protected void hookOnError(Throwable failure) {
            afterwards(this, null, failure);
        }
    }

    /**
     * @param decision null if it failed
     * @param afterMicros the server's time after it was told
     */
    private record Ended(
            Waiting waiting,
            @Nullable Decision decision,
            @Nullable Throwable failure,
            long afterMicros) {}

    private final List<RateLimiter> limiters;
    private final StatefulRedisConnection<String, String> clock;
    private final SplittableRandom random;
    private final PaperReigns paper;
    private final List<Waiting> waiting = new ArrayList<>();
    private final Queue<Ended> ended = new ConcurrentLinkedQueue<>();
    private final List<Refundable> refundable = new ArrayList<>();
    private final List<Open> open = new ArrayList<>();
    private long settled;
    private int left;
    private int leftUnderAnotherPolicy;
    private int denied;

    /** @param limiters of the policy of {@code first} */
    FlowingTrace(
            List<RateLimiter> limiters,
            PaperReigns.Bucket first,
            StatefulRedisConnection<String, String> clock,
            SplittableRandom random) {
        this.limiters = limiters;
        this.clock = clock;
        this.random = random;
        this.paper = new PaperReigns(first);
    }

    static PaperReigns.Bucket randomBucket(SplittableRandom random) {
        long interval = random.nextInt(4) == 0 ? AN_HOUR_MICROS : 500 + random.nextInt(20_000);
        return new PaperReigns.Bucket(1 + random.nextLong(MAX_CAPACITY), interval, random.nextBoolean());
    }

    void run() {
        for (int step = 0; step < STEPS; step++) {
            Mono.delay(Duration.ofNanos(random.nextLong(4_000_000))).block(PATIENCE);
            step(limiters.get(random.nextInt(limiters.size())));
            workOff();
        }
        change(limiters.get(0), LAST);
        Await.until("everybody who waits has left", () -> {
            workOff();
            return waiting.isEmpty();
        });
        paper.check();
    }

    private void step(RateLimiter limiter) {
        long permits = 1 + random.nextLong(paper.bucket().capacity());
        switch (random.nextInt(12)) {
            case 0, 1, 2 -> await(limiter, permits);
            case 3, 4 -> take(limiter, permits);
            case 5, 6 -> reserve(limiter, permits);
            case 7, 8 -> settle();
            case 9 -> refund();
            case 10 -> cancel();
            default -> change(limiter, freshBucket());
        }
    }

    /** So that it can be told under which one somebody was let pass. */
    private PaperReigns.Bucket freshBucket() {
        PaperReigns.Bucket bucket = randomBucket(random);
        while (paper.hasRuled(bucket)) {
            bucket = randomBucket(random);
        }
        return bucket;
    }

    private long serverMicros() {
        return micros(clock.sync().time());
    }

    private static long micros(List<String> time) {
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }

    private void await(RateLimiter limiter, long permits) {
        boolean isPatient = random.nextInt(3) > 0;
        Waiting waiter = new Waiting(limiter, permits, isPatient, paper.count());
        Mono<Decision> turn = isPatient
                ? limiter.acquire(KEY, permits)
                : limiter.acquire(KEY, permits, Duration.ofMillis(1 + random.nextInt(60)));
        waiting.add(waiter);
        turn.subscribe(waiter);
    }

    private void afterwards(Waiting waiter, @Nullable Decision decision, @Nullable Throwable failure) {
        try {
            clock.async().time().thenAccept(time -> ended.add(new Ended(waiter, decision, failure, micros(time))));
        } catch (RedisException closed) {
            // The trace ended without it.
            assertThat(waiter.hasLeft).isTrue();
        }
    }

    private void workOff() {
        for (Ended end = ended.poll(); end != null; end = ended.poll()) {
            waiting.remove(end.waiting);
            if (end.decision == null) {
                assertThat(end.failure).isInstanceOf(PermitsExceedCapacityException.class);
                assertThat(end.waiting.permits).isGreaterThan(paper.leastCapacitySince(end.waiting.arrivedIn));
            } else if (end.decision.allowed()) {
                left(end.waiting, end.decision, end.afterMicros);
            } else {
                assertThat(end.waiting.isPatient)
                        .as("denied, though it would wait for ever")
                        .isFalse();
                denied++;
            }
        }
    }

    private void left(Waiting waiter, Decision decision, long afterMicros) {
        left++;
        assertThat(afterMicros)
                .isGreaterThanOrEqualTo(decision.debit().orElseThrow().atTick());
        leftUnderAnotherPolicy += paper.reignOf(decision) >= waiter.arrivedIn ? 1 : 0;
        refundable.add(new Refundable(waiter.limiter, decision, paper.grant(decision, true)));
    }

    private void take(RateLimiter limiter, long permits) {
        Decision decision = now(limiter.tryAcquire(KEY, permits));
        if (decision.allowed()) {
            refundable.add(new Refundable(limiter, decision, paper.grant(decision, false)));
        }
    }

    private void refund() {
        if (!refundable.isEmpty()) {
            Refundable taken = refundable.remove(random.nextInt(refundable.size()));
            taken.grant.giveBack(taken.decision.permits(), serverMicros());
            taken.limiter.refund(taken.decision).block(PATIENCE);
        }
    }

    private void reserve(RateLimiter limiter, long permits) {
        Reservation reservation = limiter.reserve(KEY, permits, ZERO)
                .onErrorResume(RateLimitExceededException.class, denied -> Mono.empty())
                .block(PATIENCE);
        if (reservation != null) {
            open.add(new Open(reservation, paper.grant(reservation.decision(), false)));
        }
    }

    private void settle() {
        if (open.isEmpty()) {
            return;
        }
        Open settling = open.remove(random.nextInt(open.size()));
        long estimate = settling.reservation.estimate();
        long actual = random.nextLong(2 * estimate + 1);
        long notBefore = serverMicros();
        if (actual < estimate) {
            settling.grant.giveBack(estimate - actual, notBefore);
        }
        Settlement settlement = now(settling.reservation.settle(actual));
        settled += actual;
        if (actual > estimate) {
            paper.charge(actual - estimate - settlement.uncharged(), notBefore, serverMicros());
        }
    }

    /** What was granted meanwhile and not told is given back. */
    private void cancel() {
        if (!waiting.isEmpty()) {
            Waiting leaver = waiting.remove(random.nextInt(waiting.size()));
            leaver.hasLeft = true;
            leaver.cancel();
        }
    }

    private void change(RateLimiter limiter, PaperReigns.Bucket to) {
        long notBefore = serverMicros();
        limiter.changePolicy(to.policy()).block(PATIENCE);
        limiters.forEach(each -> Await.until("the process follows", () -> {
            now(each.peek(KEY));
            return each.policy().equals(to.policy());
        }));
        follow(to, notBefore);
    }

    /** The key itself tells a process that has not heard of it. */
    private void follow(PaperReigns.Bucket to, long notBefore) {
        limiters.forEach(each -> assertThat(now(each.peek(KEY)).limit()).isEqualTo(to.capacity()));
        paper.change(to, notBefore, serverMicros());
    }

    private static <T> T now(Mono<T> request) {
        T answer = request.block(PATIENCE);
        assertThat(answer).isNotNull();
        return answer;
    }

    PaperReigns paper() {
        return paper;
    }

    /** The sum of what reservations were settled by. */
    long settled() {
        return settled;
    }

    /** Reservations that were not settled. */
    int open() {
        return open.size();
    }

    /** Who waited and was let pass. */
    int left() {
        return left;
    }

    int leftUnderAnotherPolicy() {
        return leftUnderAnotherPolicy;
    }

    int denied() {
        return denied;
    }
}

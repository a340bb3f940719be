package io.github.reactorratelimit.fairness;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Two threads against each other: every permit is spent or returned, once, and everybody is told. */
class FairRaceTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 100_000 : 1_500;
    private static final String CLASS = FairShareBuilder.DEFAULT_CLASS;
    private static final long INTERVAL_NANOS = 1_000;
    private static final Duration NO_LIMIT = Duration.ofNanos(Long.MAX_VALUE);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final long seed = Seeds.of("FairRaceTest");
    private final Race race = new Race(1, seed);

    @AfterEach
    void closeRace() {
        race.close();
    }

    private void race(Runnable left, Runnable right) {
        race.run(i -> left.run(), i -> right.run());
    }

    /** Keeps what it is given even if it has left. */
    private static final class Receiver<T> extends AtomicReference<T> implements CoreSubscriber<T> {

        private static final long serialVersionUID = 1L;
        private final transient AtomicReference<Subscription> subscription = new AtomicReference<>();

        static <T> Receiver<T> of(Mono<T> request) {
            Receiver<T> receiver = new Receiver<>();
            request.subscribe(receiver);
            return receiver;
        }

        @Override
        public void onSubscribe(Subscription upstream) {
            subscription.set(upstream);
            upstream.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(T value) {
            assertThat(compareAndSet(null, value)).isTrue();
        }

        @Override
        public void onError(Throwable error) {
            throw new AssertionError(error);
        }

        @Override
        public void onComplete() {}

        void cancel() {
            while (subscription.get() == null) {
                Thread.onSpinWait();
            }
            subscription.get().cancel();
        }
    }

    @Test
    void cancelAgainstGrantSpendsOrReturnsThePermitOnce() {
        ManualScheduler time = new ManualScheduler(0);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofNanos(INTERVAL_NANOS)))
                .scheduler(time)
                .build();
        FairShare share = FairShare.over(limiter, "k").scheduler(time).build();
        int granted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isTrue();
            Receiver<Decision> waiting = Receiver.of(share.acquire("a", CLASS, 1, NO_LIMIT));
            time.advance(INTERVAL_NANOS);
            race(time::runDue, waiting::cancel);
            time.runDue();
            assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1))
                    .as("round %d: the permit was returned unless it was delivered", round)
                    .isEqualTo(waiting.get() == null);
            assertThat(share.queued()).isZero();
            assertThat(time.pending()).isZero();
            granted += waiting.get() == null ? 0 : 1;
            time.advance(INTERVAL_NANOS);
        }
        System.out.printf("cancel against a fair grant: %d of %d granted%n", granted, ROUNDS);
    }

    @Test
    void cancelAgainstAnswerAtOnceSpendsOrReturnsThePermit() {
        ManualScheduler frozen = new ManualScheduler(0);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(ROUNDS))
                .scheduler(frozen)
                .build();
        FairShare share = FairShare.over(limiter, "k").scheduler(frozen).build();
        int delivered = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Receiver<Decision> asking = new Receiver<>();
            race(() -> share.acquire("a", CLASS, 1, NO_LIMIT).subscribe(asking), asking::cancel);
            frozen.runDue();
            delivered += asking.get() == null ? 0 : 1;
        }
        assertThat(limiter.peek("k").block().remaining()).isEqualTo(ROUNDS - delivered);
    }

    /** One who came for another cost changes what is asked for just as the permits come. */
    @Test
    void arrivalOfAnotherCostAgainstGrantLosesNothingAndGivesNothingTwice() {
        SplittableRandom random = new SplittableRandom(seed);
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(4))
                .scheduler(Schedulers.immediate())
                .build();
        FairShare share = FairShare.over(limiter, "k")
                .classes("interactive", "batch")
                .scheduler(Schedulers.immediate())
                .build();
        for (int round = 0; round < ROUNDS; round++) {
            Lease held = limiter.acquireLease("k", 4, NO_LIMIT).block();
            long first = 1 + random.nextInt(4);
            long second = 1 + random.nextInt(4);
            Receiver<Lease> early = Receiver.of(share.limiter("batch").acquireLease("a", first, NO_LIMIT));
            Receiver<Lease> late = new Receiver<>();
            race(
                    () -> held.release().subscribe(),
                    () -> share.limiter("interactive")
                            .acquireLease("b", second, NO_LIMIT)
                            .subscribe(late));
            release(early, first, late, second);
            release(early, first, late, second);
            assertThat(early.get()).as("round %d", round).isNull();
            assertThat(late.get()).as("round %d", round).isNull();
            assertThat(share.queued()).isZero();
            assertThat(limiter.peek("k").block().remaining())
                    .as("round %d", round)
                    .isEqualTo(4);
        }
    }

    /** Releases one of the two leases; the other may come only then. */
    private static void release(Receiver<Lease> early, long first, Receiver<Lease> late, long second) {
        boolean isEarly = early.get() != null;
        Lease lease = (isEarly ? early : late).getAndSet(null);
        assertThat(lease).isNotNull();
        assertThat(lease.decision().permits()).isEqualTo(isEarly ? first : second);
        lease.release().block();
    }

    @Test
    void cancelAgainstReleaseNeverLosesAPermit() {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                .scheduler(Schedulers.immediate())
                .build();
        FairShare share =
                FairShare.over(limiter, "k").scheduler(Schedulers.immediate()).build();
        RateLimiter view = share.limiter(CLASS);
        for (int round = 0; round < ROUNDS; round++) {
            Lease held = view.acquireLease("a", 1, NO_LIMIT).block();
            Receiver<Lease> leaves = Receiver.of(view.acquireLease("a", 1, NO_LIMIT));
            Receiver<Lease> stays = Receiver.of(view.acquireLease("b", 1, NO_LIMIT));
            race(() -> held.release().subscribe(), leaves::cancel);
            if (leaves.get() != null) {
                leaves.get().release().block();
            }
            assertThat(stays.get()).as("round %d", round).isNotNull();
            stays.get().release().block();
            assertThat(limiter.peek("k").block().remaining())
                    .as("round %d", round)
                    .isEqualTo(1);
        }
    }

    @Test
    void closeAgainstAcquireTellsEveryoneAndKeepsNothing() {
        for (int round = 0; round < ROUNDS / 4; round++) {
            RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                    .scheduler(Schedulers.immediate())
                    .build();
            FairShare share = FairShare.over(limiter, "k")
                    .scheduler(Schedulers.immediate())
                    .build();
            AtomicInteger told = new AtomicInteger();
            AtomicReference<Lease> got = new AtomicReference<>();
            Runnable join = () -> share.limiter(CLASS)
                    .acquireLease("a", 1, NO_LIMIT)
                    .subscribe(
                            lease -> {
                                told.incrementAndGet();
                                got.set(lease);
                            },
                            error -> told.incrementAndGet());
            race(() -> share.close().subscribe(), join);
            share.close().block(PATIENCE);
            assertThat(told).as("round %d", round).hasValue(1);
            assertThat(limiter.peek("k").block().remaining())
                    .as("round %d", round)
                    .isEqualTo(got.get() == null ? 1 : 0);
            limiter.close().block(PATIENCE);
        }
    }
}

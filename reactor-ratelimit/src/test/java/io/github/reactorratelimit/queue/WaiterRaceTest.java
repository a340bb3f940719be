package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Two threads against each other: one atomic move decides, and every permit is spent or returned once. */
class WaiterRaceTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 100_000 : 20_000;

    private final Race race = new Race(1, Seeds.of("WaiterRaceTest"));

    @AfterEach
    void closeRace() {
        race.close();
    }

    private void race(Runnable left, Runnable right) {
        race.run(i -> left.run(), i -> right.run());
    }

    private static final String KEY = "k";
    private static final long INTERVAL_NANOS = 1_000;
    private static final Duration NO_LIMIT = Duration.ofNanos(Long.MAX_VALUE);

    /** Keeps what it is given even if it has left: unlike a lambda's subscriber, it never drops a signal. */
    private static final class Receiver<T> extends AtomicReference<T> implements CoreSubscriber<T> {

        private static final long serialVersionUID = 1L;
        private transient volatile Subscription subscription;

        static <T> Receiver<T> of(Mono<T> request) {
            Receiver<T> receiver = new Receiver<>();
            request.subscribe(receiver);
            return receiver;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            this.subscription = subscription;
            subscription.request(Long.MAX_VALUE);
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
            while (subscription == null) {
                Thread.onSpinWait();
            }
            subscription.cancel();
        }
    }

    @Test
    void cancelAgainstGrantSpendsOrReturnsThePermitOnce() {
        ManualScheduler time = new ManualScheduler(0);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofNanos(INTERVAL_NANOS)))
                .scheduler(time)
                .build();
        int granted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)).isTrue();
            Receiver<Decision> waiting = Receiver.of(limiter.acquire(KEY));
            time.advance(INTERVAL_NANOS);
            race(time::runDue, waiting::cancel);
            time.runDue();
            assertThat(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1))
                    .as("round %d: the permit was returned unless it was delivered", round)
                    .isEqualTo(waiting.get() == null);
            assertThat(time.pending()).isZero();
            granted += waiting.get() == null ? 0 : 1;
            time.advance(INTERVAL_NANOS);
        }
        System.out.printf("cancel against grant: %d of %d granted%n", granted, ROUNDS);
    }

    @Test
    void cancelAgainstReleaseNeverLosesAPermit() {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                .scheduler(Schedulers.immediate())
                .build();
        int granted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Lease held = limiter.acquireLease(KEY, 1, NO_LIMIT).block();
            Receiver<Lease> second = Receiver.of(limiter.acquireLease(KEY, 1, NO_LIMIT));
            race(() -> held.release().subscribe(), second::cancel);
            if (second.get() != null) {
                granted++;
                second.get().release().subscribe();
            }
            Decision after = limiter.peek(KEY).block();
            assertThat(after.remaining()).as("round %d", round).isEqualTo(1);
        }
        System.out.printf("cancel against release: %d of %d granted%n", granted, ROUNDS);
    }

    @Test
    void joinAgainstRetiringLineIsNeitherForgottenNorCountedTwice() {
        AtomicInteger waiting = new AtomicInteger();
        RateLimitRecorder counting = new RateLimitRecorder() {
            @Override
            public void queueChanged(int change) {
                waiting.addAndGet(change);
            }
        };
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                .scheduler(Schedulers.immediate())
                .recorder(counting)
                .build();
        for (int round = 0; round < ROUNDS; round++) {
            Lease held = limiter.acquireLease(KEY, 1, NO_LIMIT).block();
            AtomicReference<Lease> stays = new AtomicReference<>();
            Receiver<Lease> leaves = Receiver.of(limiter.acquireLease(KEY, 1, NO_LIMIT));
            race(leaves::cancel, () -> limiter.acquireLease(KEY, 1, NO_LIMIT).subscribe(stays::set));
            assertThat(stays.get()).isNull();
            held.release().block();
            assertThat(stays.get()).as("round %d", round).isNotNull();
            stays.get().release().block();
            assertThat(waiting).as("round %d", round).hasValue(0);
        }
        limiter.close().block(Duration.ofSeconds(30));
    }

    @Test
    void cancelAgainstAnswerAtOnceSpendsOrReturnsThePermit() {
        ManualScheduler frozen = new ManualScheduler(0);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(ROUNDS))
                .scheduler(frozen)
                .build();
        int delivered = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Receiver<Decision> asking = new Receiver<>();
            race(() -> limiter.tryAcquire(KEY).subscribe(asking), asking::cancel);
            delivered += asking.get() == null ? 0 : 1;
        }
        assertThat(limiter.peek(KEY).block().remaining()).isEqualTo(ROUNDS - delivered);
        System.out.printf("cancel against an answer at once: %d of %d delivered%n", delivered, ROUNDS);
    }

    @Test
    void cancelAgainstAcquireAllSpendsOrReturnsEverything() {
        ManualScheduler frozen = new ManualScheduler(0);
        RateLimiter first = RateLimiter.builder(TokenBucket.perHour(ROUNDS))
                .scheduler(frozen)
                .build();
        RateLimiter second = RateLimiter.builder(TokenBucket.perHour(ROUNDS))
                .scheduler(frozen)
                .build();
        Mono<JointDecision> both =
                RateLimiter.acquireAll(List.of(RateLimiter.permits(first, KEY), RateLimiter.permits(second, KEY)));
        int delivered = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Receiver<JointDecision> asking = new Receiver<>();
            race(() -> both.subscribe(asking), asking::cancel);
            delivered += asking.get() == null ? 0 : 1;
        }
        assertThat(first.peek(KEY).block().remaining()).isEqualTo(ROUNDS - delivered);
        assertThat(second.peek(KEY).block().remaining()).isEqualTo(ROUNDS - delivered);
        System.out.printf("cancel against acquireAll: %d of %d delivered%n", delivered, ROUNDS);
    }

    @Test
    void closeAgainstJoinTellsEveryone() {
        for (int round = 0; round < 20_000; round++) {
            RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                    .scheduler(Schedulers.immediate())
                    .build();
            limiter.acquireLease(KEY, 1, NO_LIMIT).block();
            AtomicInteger told = new AtomicInteger();
            Runnable join = () ->
                    limiter.acquireLease(KEY, 1, NO_LIMIT).subscribe(lease -> {}, error -> told.incrementAndGet());
            race(() -> limiter.close().subscribe(), join);
            limiter.close().block(Duration.ofSeconds(30));
            assertThat(told).as("round %d", round).hasValue(1);
        }
    }
}

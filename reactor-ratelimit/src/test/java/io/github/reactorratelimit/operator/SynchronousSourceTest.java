package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Scannable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;

/** A source that emits on the thread that requests: an element is decided when it leaves, never before. */
class SynchronousSourceTest {

    private static final int CAPACITY = 2_000;
    private static final IllegalStateException BOOM = new IllegalStateException("boom");

    private final ManualScheduler clock = new ManualScheduler(-77);
    private final Counts counts = new Counts();
    private final RateLimiter limiter = RateLimiter.builder(
                    TokenBucket.perSecond(1).withBurst(CAPACITY))
            .scheduler(clock)
            .recorder(counts)
            .build();

    private static final class Counts implements RateLimitRecorder {

        private final AtomicInteger allowed = new AtomicInteger();
        private final AtomicInteger denied = new AtomicInteger();
        private final AtomicLong refunded = new AtomicLong();

        @Override
        public void decided(boolean wasAllowed, long permits) {
            (wasAllowed ? allowed : denied).incrementAndGet();
        }

        @Override
        public void counted(Event event, long permits) {
            if (event == Event.REFUNDED) {
                refunded.addAndGet(permits);
            }
        }
    }

    /** Breaks the rule that a subscriber must not throw. */
    private static final class Throwing implements CoreSubscriber<Integer> {

        private final int at;
        private int seen;

        Throwing(int at) {
            this.at = at;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Integer element) {
            seen++;
            if (seen == at) {
                throw BOOM;
            }
        }

        @Override
        public void onError(Throwable failure) {
            throw new AssertionError(failure);
        }

        @Override
        public void onComplete() {
            throw new AssertionError("completed");
        }
    }

    private long spent() {
        Decision seen = limiter.peek(LimitSpec.DEFAULT_KEY).block();
        return seen.limit() - seen.remaining();
    }

    private Flux<Integer> limited(Flux<Integer> source) {
        return source.transform(limitRate(limiter));
    }

    private void assertSpentByElements(int elements) {
        assertThat(spent()).isEqualTo(elements);
        assertThat(counts.allowed).hasValue(elements);
        assertThat(counts.refunded).hasValue(0);
    }

    @Test
    void nothingIsTakenAhead() {
        List<Long> ahead = new ArrayList<>();
        limited(Flux.range(1, 500)).subscribe(element -> ahead.add(spent() - element));
        assertThat(ahead).hasSize(500).containsOnly(0L);
        assertSpentByElements(500);
    }

    @Test
    void completionSpendsWhatWasEmitted() {
        StepVerifier.create(limited(Flux.range(0, 777))).expectNextCount(777).verifyComplete();
        assertSpentByElements(777);
    }

    @Test
    void errorOfTheSourceSpendsWhatWasEmitted() {
        Flux<Integer> failing = Flux.range(0, 1_000).map(element -> {
            if (element == 301) {
                throw BOOM;
            }
            return element;
        });
        StepVerifier.create(limited(failing)).expectNextCount(301).verifyErrorMatches(failure -> failure == BOOM);
        assertSpentByElements(301);
    }

    @Test
    void cancelFromOnNextSpendsWhatWasEmitted() {
        StepVerifier.create(limited(Flux.range(0, 1_000)).take(301))
                .expectNextCount(301)
                .verifyComplete();
        assertSpentByElements(301);
    }

    @Test
    void nothingIsTakenAheadOfTheDemand() {
        StepVerifier.create(limited(Flux.range(0, 1_000)), 0)
                .thenRequest(200)
                .expectNextCount(200)
                .then(() -> assertSpentByElements(200))
                .thenRequest(5)
                .expectNextCount(5)
                .then(() -> assertSpentByElements(205))
                .thenCancel()
                .verify();
        assertSpentByElements(205);
    }

    @Test
    void demandFromOnNextIsServedInTheSameRun() {
        AtomicInteger seen = new AtomicInteger();
        BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                request(1);
            }

            @Override
            protected void hookOnNext(Integer value) {
                if (seen.incrementAndGet() < 400) {
                    request(1 + seen.get() % 3);
                }
            }
        };
        limited(Flux.range(0, 10_000)).subscribe(subscriber);
        assertThat(seen.get()).isGreaterThan(400);
        assertSpentByElements(seen.get());
    }

    @Test
    void exceptionOfDownstreamSpendsWhatWasEmitted() {
        Flux<Integer> flux = limited(Flux.range(0, 1_000));
        assertThatThrownBy(() -> flux.subscribe(new Throwing(301))).isSameAs(BOOM);
        assertSpentByElements(301);
    }

    @Test
    void denialComesWhenAllIsSpent() {
        StepVerifier.create(Flux.range(0, 5_000).transform(limitRate(limiter, spec -> spec.reject())))
                .expectNextCount(CAPACITY)
                .verifyErrorSatisfies(failure -> assertThat(failure)
                        .isInstanceOf(RateLimitExceededException.class)
                        .hasMessageContaining("rate limit 'default' exceeded: denied 1 of"));
        assertSpentByElements(CAPACITY);
        assertThat(counts.denied).hasValue(1);
    }

    @Test
    void deniedElementsAreDiscardedAndCounted() {
        AtomicInteger discarded = new AtomicInteger();
        StepVerifier.create(Flux.range(0, 5_000)
                        .transform(limitRate(limiter, spec -> spec.drop()))
                        .doOnDiscard(Integer.class, element -> discarded.incrementAndGet()))
                .expectNextCount(CAPACITY)
                .verifyComplete();
        assertThat(discarded).hasValue(5_000 - CAPACITY);
        assertThat(counts.denied).hasValue(5_000 - CAPACITY);
        assertSpentByElements(CAPACITY);
    }

    @Test
    void elementThatWaitsIsHeldAndTheNextIsNotRequested() {
        AtomicInteger requested = new AtomicInteger();
        List<Integer> seen = new ArrayList<>();
        limited(Flux.range(0, CAPACITY + 10).doOnNext(element -> requested.incrementAndGet()))
                .subscribe(seen::add);
        assertThat(seen).hasSize(CAPACITY);
        assertThat(requested).hasValue(CAPACITY + 1);
        clock.advance(Duration.ofSeconds(2).toNanos());
        clock.runDue();
        clock.runDue();
        assertThat(seen).hasSize(CAPACITY + 2);
        assertThat(requested).hasValue(CAPACITY + 3);
    }

    @Test
    void cancelWhileHoldingDiscardsTheElementAndLeavesTheLine() {
        List<Integer> discarded = new ArrayList<>();
        Disposable subscriber = limited(Flux.range(0, 3_000))
                .doOnDiscard(Integer.class, discarded::add)
                .subscribe();
        assertThat(discarded).isEmpty();
        subscriber.dispose();
        assertThat(discarded).containsExactly(CAPACITY);
        clock.advance(Duration.ofSeconds(1).toNanos());
        clock.runDue();
        assertThat(clock.pending()).isZero();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 1))
                .isTrue();
    }

    @Test
    void thoseBeforeHearOfTheEndThatNeedsNoDemand() {
        AtomicInteger completed = new AtomicInteger();
        StepVerifier.create(limited(Flux.range(0, 3).doOnComplete(completed::incrementAndGet)), 3)
                .expectNext(0, 1, 2)
                .verifyComplete();
        assertThat(completed).hasValue(1);
    }

    @Test
    void keysOfElementsAreAskedOneByOne() {
        List<String> keys = new ArrayList<>();
        StepVerifier.create(Flux.range(0, 4)
                        .transform(limitRate(
                                limiter,
                                spec -> spec.key(element -> {
                                    keys.add("key" + element % 2);
                                    return "key" + element % 2;
                                }))))
                .expectNextCount(4)
                .verifyComplete();
        assertThat(keys).containsExactly("key0", "key1", "key0", "key1");
        assertThat(limiter.peek("key0").block().remaining()).isEqualTo(CAPACITY - 2);
    }

    @Test
    void subscriptionTellsItsState() {
        List<Scannable> subscriptions = new ArrayList<>();
        StepVerifier.create(limited(Flux.range(0, 3)).doOnSubscribe(s -> subscriptions.add(Scannable.from(s))), 2)
                .expectNext(0, 1)
                .then(() -> {
                    Scannable subscription = subscriptions.get(0);
                    assertThat(subscription.scan(Scannable.Attr.REQUESTED_FROM_DOWNSTREAM))
                            .isZero();
                    assertThat(subscription.scan(Scannable.Attr.BUFFERED)).isZero();
                    assertThat(subscription.scan(Scannable.Attr.ACTUAL)).isNotNull();
                    assertThat(subscription.scan(Scannable.Attr.PARENT)).isNotNull();
                    assertThat(subscription.scan(Scannable.Attr.TERMINATED)).isFalse();
                })
                .thenRequest(1)
                .expectNext(2)
                .verifyComplete();
        assertThat(subscriptions.get(0).scan(Scannable.Attr.TERMINATED)).isTrue();
    }
}

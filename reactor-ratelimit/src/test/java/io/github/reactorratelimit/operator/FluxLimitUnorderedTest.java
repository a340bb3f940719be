package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.Exceptions;
import reactor.core.Scannable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** The operator whose elements overtake, signal by signal, with a limiter that grants by hand. Keys are first letters. */
class FluxLimitUnorderedTest {

    private final HandLimiter limiter = HandLimiter.with(0);
    private final List<Object> discarded = new ArrayList<>();
    private final TestPublisher<String> source = TestPublisher.create();

    private Flux<String> limited(Flux<String> flux, int maxHeld, UnaryOperator<LimitSpec<String>> more) {
        return flux.transform(limitRate(
                        limiter,
                        spec -> more.apply(
                                spec.key(element -> element.substring(0, 1)).unordered(maxHeld))))
                .doOnDiscard(Object.class, discarded::add);
    }

    private Flux<String> limited(int maxHeld) {
        return limited(source.flux(), maxHeld, spec -> spec);
    }

    @Test
    void grantedElementOvertakesThoseOfOtherKeys() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "b1", "c1"))
                .then(() -> limiter.answer(2, true))
                .expectNext("c1")
                .then(() -> limiter.answer(0, true))
                .expectNext("a1")
                .then(() -> limiter.answer(0, true))
                .expectNext("b1")
                .then(source::complete)
                .verifyComplete();
        assertThat(limiter.spent()).isEqualTo(3);
    }

    @Test
    void grantsThatComeInAnyOrderKeepTheOrderOfAKey() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "a2", "b1", "a3"))
                .then(() -> limiter.answer(3, true))
                .then(() -> limiter.answer(1, true))
                .then(() -> limiter.answer(1, true))
                .expectNext("b1")
                .then(() -> limiter.answer(0, true))
                .expectNext("a1", "a2", "a3")
                .then(source::complete)
                .verifyComplete();
    }

    @Test
    void permitThatIsThereDoesNotLetAnElementOvertakeItsOwnKey() {
        List<Runnable> grants = new ArrayList<>();
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1"))
                .then(() -> grants.add(limiter.grantLater(0)))
                .then(() -> limiter.add(2))
                .then(() -> source.next("a2", "b1"))
                .expectNext("b1")
                .then(() -> grants.get(0).run())
                .expectNext("a1", "a2")
                .then(() -> limiter.add(1))
                .then(() -> source.next("a3"))
                .expectNext("a3")
                .then(source::complete)
                .verifyComplete();
    }

    @Test
    void noMoreIsRequestedThanMayBeHeldOrIsWanted() {
        AtomicLong requested = new AtomicLong();
        Flux<String> counted = source.flux().doOnRequest(requested::addAndGet);
        StepVerifier.create(limited(counted, 3, spec -> spec), 2)
                .expectSubscription()
                .then(() -> assertThat(requested).hasValue(2))
                .thenRequest(5)
                .then(() -> assertThat(requested).hasValue(3))
                .then(() -> source.next("a1", "b1", "c1"))
                .then(() -> assertThat(requested).hasValue(3))
                .then(() -> limiter.answer(1, true))
                .expectNext("b1")
                .then(() -> assertThat(requested).hasValue(4))
                .thenCancel()
                .verify();
        assertThat(discarded).containsExactlyInAnyOrder("a1", "c1");
    }

    @Test
    void droppedElementMakesRoomForTheNext() {
        AtomicLong requested = new AtomicLong();
        Flux<String> counted = source.flux().doOnRequest(requested::addAndGet);
        StepVerifier.create(limited(counted, 2, spec -> spec.drop().maxWait(Duration.ofSeconds(1))))
                .then(() -> source.next("a1", "b1"))
                .then(() -> limiter.answer(0, false))
                .then(() -> assertThat(requested).hasValue(3))
                .then(source::complete)
                .then(() -> limiter.answer(0, true))
                .expectNext("b1")
                .verifyComplete();
        assertThat(discarded).containsExactly("a1");
    }

    @Test
    void deniedElementIsReplaced() {
        StepVerifier.create(limited(
                        source.flux(),
                        2,
                        spec -> spec.fallback((element, decision) -> element.equals("a1") ? element : element + "'")
                                .maxWait(Duration.ofSeconds(1))))
                .then(() -> source.next("a1", "b1"))
                .then(() -> limiter.answer(1, false))
                .expectNext("b1'")
                .then(() -> limiter.answer(0, false))
                .expectNext("a1")
                .thenCancel()
                .verify();
        assertThat(discarded).containsExactly("b1");
    }

    @Test
    void deniedElementEndsTheStreamAndDiscardsAllThatAreHeld() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "b1", "c1"))
                .then(() -> limiter.answer(1, false))
                .verifyError(RateLimitExceededException.class);
        source.assertCancelled();
        assertThat(discarded).containsExactlyInAnyOrder("a1", "b1", "c1");
        assertThat(limiter.waiting()).isZero();
    }

    @Test
    void errorFromUpstreamDiscardsAllThatAreHeld() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "b1").error(new IllegalStateException("boom")))
                .verifyErrorMessage("boom");
        assertThat(discarded).containsExactlyInAnyOrder("a1", "b1");
        assertThat(limiter.waiting()).isZero();
    }

    @Test
    void failingLimiterEndsTheStreamOnce() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "b1"))
                .then(() -> limiter.fail(new IllegalStateException("store")))
                .verifyErrorMessage("store");
        assertThat(discarded).containsExactlyInAnyOrder("a1", "b1");
    }

    @Test
    void cancelDiscardsWhatWaitsAndGivesBackWhatWasGrantedBehindIt() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "a2", "b1"))
                .then(() -> limiter.answer(1, true))
                .thenCancel()
                .verify();
        source.assertCancelled();
        assertThat(discarded).containsExactlyInAnyOrder("a1", "a2", "b1");
        assertThat(limiter.refundCalls()).isOne();
        assertThat(limiter.spent()).isZero();
        assertThat(limiter.waiting()).isZero();
    }

    @Test
    void completionWaitsForAllThatAreHeld() {
        StepVerifier.create(limited(8))
                .then(() -> source.next("a1", "b1").complete())
                .then(() -> limiter.answer(1, true))
                .expectNext("b1")
                .then(() -> limiter.answer(0, true))
                .expectNext("a1")
                .verifyComplete();
        StepVerifier.create(limited(Flux.empty(), 8, spec -> spec)).verifyComplete();
    }

    @Test
    void keyFunctionThatFailsEndsTheStreamOrIsSkipped() {
        limiter.add(5);
        StepVerifier.create(limited(Flux.just("a1", ""), 8, spec -> spec))
                .expectNext("a1")
                .verifyError(StringIndexOutOfBoundsException.class);
        assertThat(discarded).containsExactly("");
        StepVerifier.create(limited(Flux.just("a1", "", "b1"), 1, spec -> spec)
                        .onErrorContinue((error, element) -> assertThat(element).isEqualTo("")))
                .expectNext("a1", "b1")
                .verifyComplete();
        assertThat(limiter.spent()).isEqualTo(3);
    }

    @Test
    void sourceThatEmitsMoreThanRequestedEndsWithOverflow() {
        TestPublisher<String> unruly = TestPublisher.createNoncompliant(TestPublisher.Violation.REQUEST_OVERFLOW);
        StepVerifier.create(limited(unruly.flux(), 2, spec -> spec))
                .then(() -> unruly.next("a1").next("b1").next("c1"))
                .verifyErrorSatisfies(
                        error -> assertThat(Exceptions.isOverflow(error)).isTrue());
        assertThat(discarded).containsExactlyInAnyOrder("a1", "b1", "c1");
    }

    @Test
    @ExpectsDrops
    void signalsAfterTheEndAreDropped() {
        TestPublisher<String> unruly = TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        StepVerifier.create(limited(unruly.flux(), 2, spec -> spec))
                .then(() -> unruly.complete()
                        .next("late")
                        .error(new IllegalStateException("late"))
                        .complete())
                .verifyComplete();
        assertThat(Drops.take()).hasSize(2).first().isEqualTo("late");
    }

    @Test
    void synchronousElementsWithTheirPermitsKeepTheirOrder() {
        limiter.add(1000);
        List<Integer> seen = new ArrayList<>();
        BaseSubscriber<Integer> subscriber = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                request(7);
            }

            @Override
            protected void hookOnNext(Integer value) {
                seen.add(value);
                if (value % 5 == 0) {
                    request(6);
                }
            }
        };
        Flux.range(0, 1000)
                .transform(limitRate(limiter, spec -> spec.unordered(4)))
                .subscribe(subscriber);
        assertThat(seen).hasSize(1000).isSorted();
        assertThat(subscriber.isDisposed()).isTrue();
        assertThat(limiter.spent()).isEqualTo(1000);
    }

    @Test
    void subscriberTellsItsState() {
        List<Scannable> subscribers = new ArrayList<>();
        Flux<String> flux = source.flux().transform(limitRate(limiter, spec -> spec.unordered(4)));
        assertThat(Scannable.from(flux).scan(Scannable.Attr.RUN_STYLE)).isEqualTo(Scannable.Attr.RunStyle.ASYNC);
        StepVerifier.create(flux.doOnSubscribe(s -> subscribers.add(Scannable.from(s))), 3)
                .then(() -> source.next("a", "b"))
                .then(() -> assertThat(subscribers.get(0).scan(Scannable.Attr.BUFFERED))
                        .isEqualTo(2))
                .thenCancel()
                .verify();
        assertThat(subscribers.get(0).scan(Scannable.Attr.CANCELLED)).isTrue();
    }

    @Test
    void orderOfManyKeysIsForgotten() {
        LimitSpec<String> spec = LimitSpec.<String>defaults().key(element -> element);
        SubscriptionTerms<String> terms = Objects.requireNonNull(
                new SubscriptionTerms.Source<>(limiter, spec).orFail(Operators.emptySubscriber()));
        UnorderedSubscriber<String> subscriber =
                new UnorderedSubscriber<>(new BaseSubscriber<String>() {}, terms, Denial.error(), 4);
        subscriber.onSubscribe(Operators.emptySubscription());
        for (int i = 0; i < 1000; i++) {
            subscriber.onNext("key " + i);
            limiter.answer(0, true);
            assertThat(subscriber.keys()).isBetween(1, 8);
        }
    }

    @Test
    void everyKeyStaysInOrderUnderRealGrantsOnManyThreads() {
        long seed = Seeds.next();
        Random random = new Random(seed);
        RateLimiter real = RateLimiter.of(TokenBucket.perSecond(2_000).withBurst(3));
        int[] keys = random.ints(3_000, 0, 7).toArray();
        Map<Integer, Integer> last = new ConcurrentHashMap<>();
        AtomicInteger disorder = new AtomicInteger();
        AtomicInteger concurrent = new AtomicInteger();
        Long count = Flux.range(0, keys.length)
                .publishOn(Schedulers.parallel(), 16)
                .transform(limitRate(real, spec -> spec.key(i -> "k" + keys[i]).unordered(32)))
                .doOnNext(i -> {
                    if (concurrent.getAndIncrement() != 0) {
                        disorder.incrementAndGet();
                    }
                    Integer before = last.put(keys[i], i);
                    if (before != null && before > i) {
                        disorder.incrementAndGet();
                    }
                    concurrent.decrementAndGet();
                })
                .count()
                .block(Duration.ofSeconds(30));
        assertThat(count).as("seed %d", seed).isEqualTo(keys.length);
        assertThat(disorder).as("seed %d", seed).hasValue(0);
        assertThat(new HashMap<>(last)).hasSize(7);
    }
}

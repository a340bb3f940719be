package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** What goes wrong around the ordered operator: functions, limiters, sources and subscribers that misbehave. */
class FluxLimitFailureTest {

    private final HandLimiter limiter = HandLimiter.with(0);
    private final List<Object> discarded = new ArrayList<>();
    private final TestPublisher<String> source = TestPublisher.create();

    private Flux<String> limited(Flux<String> flux, UnaryOperator<LimitSpec<String>> spec) {
        return flux.transform(limitRate(limiter, spec)).doOnDiscard(Object.class, discarded::add);
    }

    private Flux<String> limited() {
        return limited(source.flux(), spec -> spec);
    }

    @Test
    void keyFunctionThatFailsEndsTheStreamAndSpendsNothing() {
        limiter.add(5);
        StepVerifier.create(limited(
                        source.flux(),
                        spec -> spec.key(element -> {
                            throw new IllegalStateException("no key");
                        })))
                .then(() -> source.next("a"))
                .verifyErrorMessage("no key");
        source.assertCancelled();
        assertThat(discarded).containsExactly("a");
        assertThat(limiter.spent()).isZero();
    }

    @Test
    void badKeysAndCostsOfElementsEndTheStreamAndSpendNothing() {
        limiter.add(5);
        assertEnds("key of an element", spec -> spec.key(element -> null));
        assertEnds("key must not be empty", spec -> spec.key(element -> ""));
        assertEnds("cost must be positive, was 0", spec -> spec.cost(element -> 0));
        assertEnds("cost must be positive, was -5", spec -> spec.cost(element -> -5));
        assertEnds("cost must be positive, was -1", spec -> spec.costFromContext(context -> -1));
        assertEnds("key from the Context", spec -> spec.keyFromContext(context -> null));
        assertEnds("Context does not contain key: user", spec -> spec.keyFromContext(context -> context.get("user")));
        assertThat(limiter.spent()).isZero();
    }

    private void assertEnds(String message, UnaryOperator<LimitSpec<String>> spec) {
        StepVerifier.create(limited(Flux.just("a"), spec))
                .verifyErrorSatisfies(error -> assertThat(error).hasMessageContaining(message));
    }

    @Test
    void fatalErrorOfAFunctionIsThrown() {
        assertThatThrownBy(() -> limited(
                                Flux.just("a"),
                                spec -> spec.key(element -> {
                                    throw new StackOverflowError("fatal");
                                }))
                        .subscribe())
                .isInstanceOf(StackOverflowError.class);
    }

    @Test
    void onErrorContinueSkipsTheElementWhoseKeyFails() {
        limiter.add(5);
        List<Object> skipped = new ArrayList<>();
        StepVerifier.create(limited(
                                Flux.just("a", "bad", "c"),
                                spec -> spec.key(element -> {
                                    if (element.equals("bad")) {
                                        throw new IllegalStateException("no key");
                                    }
                                    return element;
                                }))
                        .onErrorContinue((error, element) -> skipped.add(element)))
                .expectNext("a", "c")
                .verifyComplete();
        assertThat(skipped).containsExactly("bad");
        assertThat(limiter.spent()).isEqualTo(2);
    }

    @Test
    void callbackThatFailsEndsTheStreamAndDiscardsTheElement() {
        StepVerifier.create(limited(
                        source.flux(),
                        spec -> spec.drop((element, decision) -> {
                            throw new IllegalStateException("callback");
                        })))
                .then(() -> source.next("a"))
                .verifyErrorMessage("callback");
        source.assertCancelled();
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void elementThatAFallbackReplacesIsDiscardedUnlessItIsTheSame() {
        StepVerifier.create(limited(
                        source.flux(),
                        spec -> spec.fallback((element, decision) -> element.equals("a") ? "instead" : element)))
                .then(() -> source.next("a", "b"))
                .expectNext("instead", "b")
                .then(source::complete)
                .verifyComplete();
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void fallbackThatReturnsNullEndsTheStream() {
        StepVerifier.create(limited(source.flux(), spec -> spec.fallback((element, decision) -> null)))
                .then(() -> source.next("a"))
                .verifyErrorMessage("fallback returned null");
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void deniedWaitDiscardsTheElementAndEndsTheStream() {
        StepVerifier.create(limited())
                .then(() -> source.next("a"))
                .then(() -> limiter.answer(0, false))
                .verifyError(RateLimitExceededException.class);
        source.assertCancelled();
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void failingLimiterEndsTheStreamAndDiscardsTheElement() {
        StepVerifier.create(limited())
                .then(() -> source.next("a"))
                .then(() -> limiter.fail(new IllegalStateException("store")))
                .verifyErrorMessage("store");
        source.assertCancelled();
        assertThat(discarded).containsExactly("a");
    }

    @Test
    void sourceThatEmitsMoreThanRequestedEndsWithOverflow() {
        TestPublisher<String> unruly = TestPublisher.createNoncompliant(TestPublisher.Violation.REQUEST_OVERFLOW);
        StepVerifier.create(limited(unruly.flux(), spec -> spec))
                .then(() -> unruly.next("a", "b"))
                .verifyErrorSatisfies(
                        error -> assertThat(Exceptions.isOverflow(error)).isTrue());
        assertThat(discarded).containsExactlyInAnyOrder("a", "b");
        assertThat(limiter.waiting()).isZero();
    }

    @Test
    @ExpectsDrops
    void signalsAfterTheEndAreDropped() {
        limiter.add(5);
        TestPublisher<String> unruly = TestPublisher.createNoncompliant(TestPublisher.Violation.CLEANUP_ON_TERMINATE);
        StepVerifier.create(limited(unruly.flux(), spec -> spec))
                .then(() -> unruly.complete()
                        .next("late")
                        .error(new IllegalStateException("late"))
                        .complete())
                .verifyComplete();
        assertThat(Drops.take()).hasSize(2).first().isEqualTo("late");
    }

    @Test
    void badRequestsChangeNothing() {
        limiter.add(5);
        List<String> seen = new ArrayList<>();
        limited(Flux.just("a", "b"), spec -> spec).subscribe(new CoreSubscriber<>() {
            @Override
            public void onSubscribe(Subscription s) {
                s.request(0);
                s.request(-1);
                assertThat(seen).isEmpty();
                s.request(1);
            }

            @Override
            public void onNext(String element) {
                seen.add(element);
            }

            @Override
            public void onError(Throwable failure) {
                throw new AssertionError(failure);
            }

            @Override
            public void onComplete() {}
        });
        assertThat(seen).containsExactly("a");
    }
}

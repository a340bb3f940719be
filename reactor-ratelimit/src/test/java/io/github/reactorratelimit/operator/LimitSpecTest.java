package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

class LimitSpecTest {

    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);

    private final LimitSpec<String> spec = LimitSpec.defaults();
    private final HandLimiter limiter = HandLimiter.with(10);
    private final Mono<String> mono = Mono.just("a");
    private final Flux<String> flux = Flux.just("a");

    @Test
    void nullsAreRefusedByName() {
        refusesNull("key", () -> spec.key((String) null));
        refusesNull("key", () -> spec.key((Function<String, String>) null));
        refusesNull("key", () -> spec.keyFromContext(null));
        refusesNull("cost", () -> spec.cost((ToLongFunction<String>) null));
        refusesNull("cost", () -> spec.costFromContext(null));
        refusesNull("maxWait", () -> spec.maxWait(null));
        refusesNull("onDropped", () -> spec.drop((BiConsumer<String, Decision>) null));
        refusesNull("fallback", () -> spec.fallback((Function<Decision, Publisher<String>>) null));
        refusesNull("fallback", () -> spec.fallback((BiFunction<String, Decision, String>) null));
        refusesNull("policy", () -> limitRate((RateLimitPolicy) null));
        refusesNull("limiter", () -> limitRate((RateLimiter) null));
        refusesNull("limiter", () -> limitRate(null, same -> same));
        refusesNull("spec", () -> limitRate(limiter, null));
        refusesNull("what spec returned", () -> limitRate(limiter, same -> null));
    }

    @Test
    void valuesOutOfRangeAreRefusedByNameAndValue() {
        refuses("key must not be empty", () -> spec.key(""));
        refuses("cost must be positive, was 0", () -> spec.cost(0));
        refuses("cost must be positive, was -5", () -> spec.cost(-5));
        refuses("maxWait must not be negative, was PT-0.001S", () -> spec.maxWait(Duration.ofMillis(-1)));
        refuses("maxHeld must be positive, was 0", () -> spec.unordered(0));
        refuses("maxHeld must be positive, was -1", () -> spec.unordered(-1));
    }

    @Test
    void hugeWaitIsTaken() {
        assertThat(spec.maxWait(Duration.ofSeconds(Long.MAX_VALUE)).effectiveMaxWait())
                .isEqualTo(Duration.ofSeconds(Long.MAX_VALUE));
    }

    @Test
    void waitIsUnboundedUnlessRejectedDroppedOrReplaced() {
        assertThat(spec.effectiveMaxWait()).isEqualTo(UNBOUNDED);
        assertThat(spec.reject().effectiveMaxWait()).isZero();
        assertThat(spec.drop().effectiveMaxWait()).isZero();
        assertThat(spec.drop((element, decision) -> {}).effectiveMaxWait()).isZero();
        assertThat(spec.fallback(decision -> mono).effectiveMaxWait()).isZero();
        assertThat(spec.fallback((element, decision) -> element).effectiveMaxWait())
                .isZero();
    }

    @Test
    void givenWaitCountsBeforeAndAfterTheDenial() {
        Duration wait = Duration.ofSeconds(2);
        assertThat(spec.maxWait(wait).drop().effectiveMaxWait()).isEqualTo(wait);
        assertThat(spec.drop().maxWait(wait).effectiveMaxWait()).isEqualTo(wait);
        assertThat(spec.maxWait(wait).fallback(decision -> mono).effectiveMaxWait())
                .isEqualTo(wait);
        assertThat(spec.fallback((element, decision) -> element).maxWait(wait).effectiveMaxWait())
                .isEqualTo(wait);
    }

    @Test
    void rejectIsZeroWaitAndError() {
        LimitSpec<String> rejecting = spec.maxWait(Duration.ofSeconds(2)).drop().reject();
        assertThat(rejecting.effectiveMaxWait()).isZero();
        assertThat(rejecting.denial.isError()).isTrue();
    }

    @Test
    void specIsAValueThatNoCallChanges() {
        spec.key("k").cost(7).maxWait(Duration.ZERO).drop().unordered(3).perSubscription();
        assertThat(spec.key).isEqualTo(new KeyRule<>(LimitSpec.DEFAULT_KEY, null, null));
        assertThat(spec.cost).isEqualTo(new CostRule<>(1, null, null));
        assertThat(spec.effectiveMaxWait()).isEqualTo(UNBOUNDED);
        assertThat(spec.denial.isError()).isTrue();
        assertThat(spec.maxHeld).isEmpty();
        assertThat(spec.perSubscription).isFalse();
    }

    @Test
    void policyAloneIsRefusedOnAMonoWithTheSharedLimiterSpeltOut() {
        UnaryOperator<Publisher<String>> operator = limitRate(TokenBucket.perSecond(1));
        refuses(
                "limitRate(policy) on a Mono makes a limiter for each call and limits nothing; share one:"
                        + " static final RateLimiter LIMITER = RateLimiter.of(policy);"
                        + " then mono.transform(limitRate(LIMITER))",
                () -> mono.transform(operator));
    }

    @Test
    void elementFunctionsAreRefusedOnAMono() {
        refuses(
                "key of an element cannot be used with a Mono, whose elements come after the permit:"
                        + " use key(\"...\") or keyFromContext(context -> ...)",
                () -> mono.transform(limitRate(limiter, s -> s.key(element -> element))));
        refuses(
                "cost of an element cannot be used with a Mono, whose elements come after the permit:"
                        + " use cost(n) or costFromContext(context -> ...)",
                () -> mono.transform(limitRate(limiter, s -> s.cost(String::length))));
        String both =
                "drop((element, decision) -> ...) and fallback((element, decision) -> ...) cannot be used with a Mono,"
                        + " which is denied before there is an element: use drop() or fallback(decision -> publisher)";
        refuses(both, () -> mono.transform(limitRate(limiter, s -> s.fallback((element, decision) -> element))));
        refuses(both, () -> mono.transform(limitRate(limiter, s -> s.drop((element, decision) -> {}))));
        refuses(
                "unordered(n) is for a Flux: a Mono has no other element that could overtake; leave it out",
                () -> mono.transform(limitRate(limiter, s -> s.unordered(2))));
    }

    @Test
    void elementFunctionsAreRefusedPerSubscriptionBeforeThereIsASource() {
        refuses(
                "key of an element cannot be used with perSubscription()",
                s -> s.perSubscription().key(element -> element));
        refuses(
                "cost of an element cannot be used with perSubscription()",
                s -> s.cost(String::length).perSubscription());
        refuses(
                "drop((element, decision) -> ...) and fallback((element, decision) -> ...) cannot be used with perSubscription()",
                s -> s.perSubscription().fallback((element, decision) -> element));
        refuses(
                "drop((element, decision) -> ...) and fallback((element, decision) -> ...) cannot be used with perSubscription()",
                s -> s.perSubscription().drop((element, decision) -> {}));
        refuses(
                "unordered(n) is about elements, but perSubscription() limits the subscription: leave one of them out",
                s -> s.perSubscription().unordered(2));
    }

    @Test
    void unorderedWithoutWaitingIsRefused() {
        String message = "unordered(n) needs elements that wait, but maxWait is zero:"
                + " give a maxWait or leave unordered(n) out";
        refuses(message, s -> s.unordered(2).reject());
        refuses(message, s -> s.drop().unordered(2));
        refuses(message, s -> s.unordered(2).maxWait(Duration.ZERO));
    }

    @Test
    void fallbackOfTheWrongKindIsRefusedOnAFlux() {
        refuses(
                "fallback(decision -> publisher) cannot replace one element of a Flux: use"
                        + " fallback((element, decision) -> other), or perSubscription() to limit the subscription",
                () -> flux.transform(limitRate(limiter, s -> s.fallback(decision -> mono))));
    }

    @Test
    void freeCancelIsRefusedForAStreamThatIsChargedByItsElements() {
        String message = "giveBackOnCancel() is about calls that are charged by their outcome";
        refuses(message, s -> s.giveBackOnCancel());
        refuses(message, s -> s.chargeElements(String::length).giveBackOnCancel());
        refuses(message, s -> s.chargeOnError().giveBackOnCancel().chargeElements(String::length));
    }

    @Test
    void concurrencyLimitPerElementIsRefused() {
        refuses(
                "a ConcurrencyLimit cannot limit elements, which have no end that would give the permit back: use"
                        + " perSubscription(), or limit the work on each element with"
                        + " flatMap(x -> work(x).transform(limitRate(limiter)))",
                () -> flux.transform(limitRate(ConcurrencyLimit.of(3))));
    }

    private void refuses(String start, UnaryOperator<LimitSpec<String>> choices) {
        refuses(start, () -> limitRate(limiter, choices));
    }

    private static void refuses(String start, ThrowingCallable call) {
        assertThatIllegalArgumentException().isThrownBy(call).withMessageStartingWith(start);
    }

    private static void refusesNull(String name, ThrowingCallable call) {
        assertThatNullPointerException().isThrownBy(call).withMessage(name);
    }
}

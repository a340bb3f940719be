package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.micrometer.context.ContextRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;

/** Thread locals that automatic context propagation carries are the subscriber's own after a wait. */
class ContextPropagationTest {

    private static final String KEY = "ratelimit.test.user";
    private static final ThreadLocal<String> USER = new ThreadLocal<>();

    private final Queue<String> seen = new ConcurrentLinkedQueue<>();

    enum Mode {
        ORDERED(spec -> spec),
        UNORDERED(spec -> spec.unordered(4)),
        PER_SUBSCRIPTION(spec -> spec.perSubscription());

        final UnaryOperator<LimitSpec<Integer>> spec;

        Mode(UnaryOperator<LimitSpec<Integer>> spec) {
            this.spec = spec;
        }
    }

    @BeforeEach
    void carryTheUser() {
        ContextRegistry.getInstance().registerThreadLocalAccessor(KEY, USER);
        Hooks.enableAutomaticContextPropagation();
    }

    @AfterEach
    void carryNothing() {
        Hooks.disableAutomaticContextPropagation();
        ContextRegistry.getInstance().removeThreadLocalAccessor(KEY);
        USER.remove();
    }

    private void see() {
        seen.add(String.valueOf(USER.get()));
    }

    /** Two users wait for one limiter: each hears of its own grant as itself, whoever armed the timer. */
    @ParameterizedTest
    @EnumSource
    void everySubscriberKeepsItsThreadLocalsThroughAWait(Mode mode) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(200).withBurst(1));
        DirectLimiter.of(limiter).tryAcquireNow(LimitSpec.DEFAULT_KEY, 1);
        Flux<String> alice = users(limiter, mode).contextWrite(Context.of(KEY, "alice"));
        Flux<String> bob = users(limiter, mode).contextWrite(Context.of(KEY, "bob"));
        List<String> aliceAndBob = Mono.zip(
                        alice.collectList(),
                        bob.collectList(),
                        (a, b) -> List.of(String.join(",", a), String.join(",", b)))
                .block(Duration.ofSeconds(20));
        assertThat(aliceAndBob).containsExactly("alice,alice,alice", "bob,bob,bob");
    }

    private Flux<String> users(RateLimiter limiter, Mode mode) {
        return Flux.range(0, 3).transform(limitRate(limiter, mode.spec)).map(i -> String.valueOf(USER.get()));
    }

    @Test
    void sourceThatIsSubscribedAfterAWaitSeesTheSubscribersThreadLocals() {
        HandLimiter limiter = HandLimiter.with(0);
        Mono<String> call = Mono.fromCallable(() -> String.valueOf(USER.get()))
                .transform(limitRate(limiter))
                .contextWrite(Context.of(KEY, "alice"));
        call.subscribe(seen::add);
        USER.set("the granting thread");
        limiter.add(1);
        assertThat(USER.get()).isEqualTo("the granting thread");
        assertThat(seen).containsExactly("alice");
    }

    @Test
    void callbacksAfterAWaitSeeTheSubscribersThreadLocals() {
        HandLimiter limiter = HandLimiter.with(0);
        Flux.just(1, 2)
                .transform(limitRate(
                        limiter, spec -> spec.maxWait(Duration.ofSeconds(1)).drop((i, decision) -> see())))
                .contextWrite(Context.of(KEY, "alice"))
                .subscribe();
        USER.set("the granting thread");
        limiter.answer(0, false);
        limiter.answer(0, false);
        assertThat(seen).containsExactly("alice", "alice");
    }
}

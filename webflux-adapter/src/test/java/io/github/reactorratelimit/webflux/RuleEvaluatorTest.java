package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import io.netty.channel.local.LocalChannel;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.netty.Connection;
import reactor.test.StepVerifier;
import reactor.util.context.Context;

/** One evaluation: limiters that answer at once, later, or at the moment when the result is subscribed to. */
class RuleEvaluatorTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 10_000 : 2_000;

    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private final RateLimiter one = RateLimiter.of(few(1));
    private final ServerWebExchange exchange =
            MockServerWebExchange.from(MockServerHttpRequest.get("/hello").header("X-User", "ann"));
    private final RequestPermits permits = RequestPermits.of(exchange);

    @AfterEach
    void stop() {
        other.shutdownNow();
    }

    /** A limiter that answers {@code tryAcquire} so, and is {@link #one} otherwise. */
    private RateLimiter answering(Mono<Decision> answer) {
        return (RateLimiter) Proxy.newProxyInstance(
                RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, arguments) -> {
                    try {
                        return method.getName().equals("tryAcquire") ? answer : method.invoke(one, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                });
    }

    private static RuleEvaluator start(ServerWebExchange exchange, RequestPermits permits, RateLimiter limiter) {
        List<RateLimitRule> rules = List.of(byUser("rule").limiter(limiter).build());
        permits.begin(rules);
        return RuleEvaluator.start(exchange, rules, permits, Duration.ofSeconds(5), null, Context.empty());
    }

    private static Mono<RateLimitResult> evaluate(
            ServerWebExchange exchange, RequestPermits permits, RateLimiter limiter) {
        return start(exchange, permits, limiter).result();
    }

    private Mono<RateLimitResult> evaluate(RateLimiter limiter) {
        return evaluate(exchange, permits, limiter);
    }

    @Test
    void resultOfLimiterInThisProcessIsKnownAtOnce() {
        assertThat(start(exchange, permits, one).known().allowed()).isTrue();
        assertThat(permits.grants()).hasSize(1);

        RequestPermits others = new RequestPermits();
        RateLimitResult denied = start(exchange, others, one).known();
        assertThat(denied.denial().reason()).isEqualTo(RateLimitDenial.Reason.LIMITED);
        assertThat(others.grants()).isEmpty();
    }

    @Test
    void answerThatComesLaterIsWaitedFor() {
        Sinks.One<Decision> sink = Sinks.one();

        StepVerifier.create(evaluate(answering(sink.asMono())))
                .then(() -> sink.tryEmitValue(one.tryAcquire("ann").block()))
                .assertNext(result -> assertThat(result.allowed()).isTrue())
                .verifyComplete();
        assertThat(permits.grants()).hasSize(1);
    }

    @Test
    void errorThatComesLaterIsSignalled() {
        Sinks.One<Decision> sink = Sinks.one();

        StepVerifier.create(evaluate(answering(sink.asMono())))
                .then(() -> sink.tryEmitError(new IllegalStateException("broken")))
                .verifyErrorMessage("broken");
    }

    @Test
    void limiterThatCompletesWithoutDecisionAllowsNothing() {
        assertThat(evaluate(answering(Mono.empty())).block().denial().reason())
                .isEqualTo(RateLimitDenial.Reason.UNAVAILABLE);
    }

    @Test
    void cancellingCancelsTheRequestForPermits() {
        AtomicInteger cancelled = new AtomicInteger();
        Disposable waiting = evaluate(answering(Mono.<Decision>never().doOnCancel(cancelled::incrementAndGet)))
                .subscribe();

        waiting.dispose();

        assertThat(cancelled).hasValue(1);
    }

    @Test
    void grantThatComesAfterTheClientCancelledIsRefunded() {
        Sinks.One<Decision> sink = Sinks.one();
        Mono<Decision> deaf =
                Mono.create(actual -> sink.asMono().subscribe(actual::success)); // delivers though it was cancelled
        Disposable waiting = evaluate(answering(Mono.from(subscriber -> deaf.subscribe(new Deaf(subscriber)))))
                .subscribe();
        waiting.dispose();

        sink.tryEmitValue(one.tryAcquire("ann").block());

        assertThat(left(one, "ann")).isEqualTo(1);
    }

    /** Cannot be cancelled. */
    private record Deaf(Subscriber<? super Decision> actual) implements CoreSubscriber<Decision> {

        @Override
        public void onSubscribe(Subscription subscription) {
            actual.onSubscribe(Operators.emptySubscription());
            subscription.request(1);
        }

        @Override
        public void onNext(Decision decision) {
            actual.onNext(decision);
        }

        @Override
        public void onError(Throwable error) {
            actual.onError(error);
        }

        @Override
        public void onComplete() {
            actual.onComplete();
        }
    }

    @Test
    void answerAtTheMomentOfSubscriptionIsSignalledOnce() throws Exception {
        Decision allowed = RateLimiter.of(few(1)).tryAcquire("ann").block();
        CyclicBarrier start = new CyclicBarrier(2);
        for (int round = 0; round < ROUNDS; round++) {
            Sinks.One<Decision> sink = Sinks.one();
            RequestPermits fresh = new RequestPermits();
            Mono<RateLimitResult> result = evaluate(exchange, fresh, answering(sink.asMono()));
            Future<?> answering = other.submit(() -> {
                start.await();
                return sink.tryEmitValue(allowed);
            });
            start.await();

            assertThat(result.block(Duration.ofMinutes(1)).allowed())
                    .as("round " + round)
                    .isTrue();
            answering.get();
            assertThat(fresh.grants()).hasSize(1);
        }
    }

    /** A request whose connection belongs to this event loop. */
    private static ServerWebExchange on(DefaultEventLoop loop) {
        LocalChannel channel = new LocalChannel() {
            @Override
            public EventLoop eventLoop() {
                return loop;
            }
        };
        Connection connection = () -> channel;
        ServerHttpRequest request = new NativeRequest(connection);
        return MockServerWebExchange.from(MockServerHttpRequest.get("/hello").header("X-User", "ann"))
                .mutate()
                .request(request)
                .build();
    }

    @Test
    void eventLoopThatIsClosedEndsTheRequestWithAnErrorAndRefunds() throws Exception {
        DefaultEventLoop loop = new DefaultEventLoop();
        ServerWebExchange request = on(loop);
        RequestPermits held = RequestPermits.of(request);
        Sinks.One<Decision> sink = Sinks.one();
        Mono<RateLimitResult> result = loop.submit(() -> evaluate(request, held, answering(sink.asMono())))
                .get();
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).get();

        StepVerifier.create(result)
                .then(() -> sink.tryEmitValue(one.tryAcquire("ann").block()))
                .verifyError(RejectedExecutionException.class);
        assertThat(left(one, "ann")).isEqualTo(1);
    }

    @Test
    void requestContinuesOnItsEventLoop() throws Exception {
        DefaultEventLoop loop = new DefaultEventLoop();
        ServerWebExchange request = on(loop);
        RequestPermits held = RequestPermits.of(request);
        Sinks.One<Decision> sink = Sinks.one();
        Mono<RateLimitResult> result = loop.submit(() -> evaluate(request, held, answering(sink.asMono())))
                .get();

        StepVerifier.create(result.map(decided -> loop.inEventLoop()))
                .then(() -> sink.tryEmitValue(one.tryAcquire("ann").block()))
                .expectNext(true)
                .verifyComplete();
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
    }
}

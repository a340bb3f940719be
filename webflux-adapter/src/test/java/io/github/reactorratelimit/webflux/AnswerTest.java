package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.util.context.Context;

/** The answer of one limiter: at once, later, or at the moment when it is asked for. */
class AnswerTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 10_000 : 2_000;

    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private final RateLimiter one = RateLimiter.of(few(1));
    private final ServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/hello"));
    private final Admission admission = Admission.of(exchange);

    @AfterEach
    void stop() {
        other.shutdownNow();
    }

    /** A limiter that is asked for {@code answer}, and is {@link #one} otherwise. */
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

    private Answer ask(RateLimiter limiter) {
        RateLimitRule rule = byUser("rule").limiter(limiter).build();
        return Answer.of(new RuleAsk(rule, "ann", 1), admission, exchange, Context.empty());
    }

    @Test
    void limiterOfThisProcessHasAnsweredAtOnce() {
        Answer.Outcome passed = ask(one).outcome();
        assertThat(passed).isEqualTo(Answer.Outcome.PASS);
        assertThat(admission.grants()).hasSize(1);

        Answer.Outcome denied = ask(one).outcome();
        assertThat(denied.denial().reason()).isEqualTo(RateLimitDenial.Reason.LIMITED);
        assertThat(admission.grants()).hasSize(1);
    }

    @Test
    void answerThatComesLaterIsWaitedFor() {
        Sinks.One<Decision> sink = Sinks.one();
        Answer answer = ask(answering(sink.asMono()));

        assertThat(answer.outcome()).isNull();
        StepVerifier.create(answer.later())
                .then(() -> sink.tryEmitValue(one.tryAcquire("ann").block()))
                .assertNext(denial -> assertThat(denial).isEmpty())
                .verifyComplete();
        assertThat(admission.grants()).hasSize(1);
    }

    @Test
    void errorThatComesLaterIsTold() {
        Sinks.One<Decision> sink = Sinks.one();

        StepVerifier.create(ask(answering(sink.asMono())).later())
                .then(() -> sink.tryEmitError(new IllegalStateException("broken")))
                .verifyErrorMessage("broken");
    }

    @Test
    void limiterThatTellsNothingLetsNobodyPass() {
        assertThat(ask(answering(Mono.empty())).outcome().denial().reason())
                .isEqualTo(RateLimitDenial.Reason.UNAVAILABLE);
    }

    @Test
    void whoeverNoLongerWaitsCancelsTheAsk() {
        AtomicInteger cancelled = new AtomicInteger();
        Disposable waiting = ask(answering(Mono.<Decision>never().doOnCancel(cancelled::incrementAndGet)))
                .later()
                .subscribe();

        waiting.dispose();

        assertThat(cancelled).hasValue(1);
    }

    @Test
    void grantThatComesWhenTheClientHasLeftGoesBack() {
        Sinks.One<Decision> sink = Sinks.one();
        admission.decide(List.of(byUser("rule").limiter(one).build()));
        ask(answering(sink.asMono()));
        admission.leave();

        sink.tryEmitValue(one.tryAcquire("ann").block());

        assertThat(left(one, "ann")).isEqualTo(1);
    }

    @Test
    void answerThatComesAtTheMomentWhenItIsAskedForIsToldOnce() throws Exception {
        Decision allowed = RateLimiter.of(few(1)).tryAcquire("ann").block();
        CyclicBarrier start = new CyclicBarrier(2);
        for (int round = 0; round < ROUNDS; round++) {
            Sinks.One<Decision> sink = Sinks.one();
            Answer answer = ask(answering(sink.asMono()));
            Future<?> answering = other.submit(() -> {
                start.await();
                return sink.tryEmitValue(allowed);
            });
            start.await();

            assertThat(answer.later().block(Duration.ofMinutes(1)))
                    .as("round " + round)
                    .isEmpty();
            answering.get();
        }
        assertThat(admission.grants()).hasSize(ROUNDS);
    }
}

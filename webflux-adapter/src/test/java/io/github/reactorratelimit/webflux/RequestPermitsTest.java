package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static java.time.Duration.ofDays;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.testing.BrokenLimiter;
import io.github.reactorratelimit.webflux.testing.SlowRefunds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpStatus;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;

/** What a request holds, in two filters one after the other, and when somebody tries it again. */
class RequestPermitsTest {

    private final AtomicInteger handled = new AtomicInteger();
    private final RateLimiter early = RateLimiter.of(few(10));
    private final RateLimiter late = RateLimiter.of(few(1));
    private final MockServerWebExchange exchange =
            MockServerWebExchange.from(MockServerHttpRequest.get("/hello").header("X-User", "ann"));

    private final WebFilterChain handler = request -> Mono.fromRunnable(handled::incrementAndGet);

    private RateLimitEngine engineOf(RateLimitRuleBuilder lateRule) {
        return engine(
                byUser("early").limiter(early).build(),
                lateRule.afterAuthentication().build());
    }

    private static WebFilterChain then(RateLimitWebFilter filter, WebFilterChain chain) {
        return request -> filter.filter(request, chain);
    }

    private Mono<Void> both(RateLimitEngine engine) {
        return RateLimitWebFilter.of(engine)
                .filter(exchange, then(RateLimitWebFilter.afterAuthentication(engine), handler));
    }

    @Test
    void secondFilterStandsBehindSpringSecurityAndTheFirstBefore() {
        RateLimitEngine engine = engine();
        assertThat(RateLimitWebFilter.of(engine).getOrder()).isLessThan(-100);
        assertThat(RateLimitWebFilter.afterAuthentication(engine).getOrder()).isGreaterThan(-100);
        assertThat(RateLimitWebFilter.of(engine).withOrder(7).getOrder()).isEqualTo(7);
    }

    @Test
    void eachFilterAppliesItsOwnRulesAndBothAreReported() {
        both(engineOf(byUser("late").limiter(late))).block();

        assertThat(handled).hasValue(1);
        assertThat(left(early, "ann")).isEqualTo(9);
        assertThat(left(late, "ann")).isZero();
        assertThat(exchange.getResponse().getHeaders().getFirst("RateLimit-Policy"))
                .isEqualTo("\"early\";q=10;w=18000, \"late\";q=1;w=18000");
        assertThat(exchange.getResponse().getHeaders().getFirst("RateLimit")).startsWith("\"late\";r=0;");
    }

    @Test
    void denialByTheSecondGivesBackWhatTheFirstTook() {
        late.tryAcquire("ann").block();

        both(engineOf(byUser("late").limiter(late))).block();

        assertThat(handled).hasValue(0);
        assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.TOO_MANY_REQUESTS);
        assertThat(left(early, "ann")).isEqualTo(10);
    }

    @Test
    void errorInTheSecondGivesBackWhatTheFirstTook() {
        RateLimitRuleBuilder failing = RateLimitRule.named("late")
                .key(request -> Mono.error(new IllegalStateException("no user")))
                .limiter(late);

        StepVerifier.create(both(engineOf(failing))).verifyErrorMessage("no user");

        assertThat(left(early, "ann")).isEqualTo(10);
        assertThat(handled).hasValue(0);
    }

    @Test
    void clientThatLeavesInTheSecondGetsBackWhatTheFirstTook() {
        late.tryAcquire("ann").block();
        Disposable request =
                both(engineOf(byUser("late").limiter(late).delay(ofDays(1)))).subscribe();
        assertThat(left(early, "ann")).isEqualTo(9);

        request.dispose();

        assertThat(left(early, "ann")).isEqualTo(10);
        assertThat(handled).hasValue(0);
    }

    /** Two that refund late: neither may be lost, and none waits for the other. */
    private RateLimitEngine withSlowRefunds(Sinks.Empty<Void> first, RateLimiter another, RateLimitRule denying) {
        return engine(
                byUser("early")
                        .limiter(SlowRefunds.of(early, first.asMono()))
                        .onFailure(FailureAction.ALLOW)
                        .build(),
                byUser("another")
                        .limiter(another)
                        .onFailure(FailureAction.ALLOW)
                        .build(),
                denying);
    }

    @Test
    void clientThatLeavesWhileADenialIsGivenBackLosesNothing() {
        late.tryAcquire("ann").block();
        Sinks.Empty<Void> mayRefund = Sinks.empty();
        RateLimiter another = RateLimiter.of(few(10));
        Disposable request = both(withSlowRefunds(
                        mayRefund,
                        another,
                        byUser("late").limiter(late).afterAuthentication().build()))
                .subscribe();
        assertThat(left(early, "ann")).isEqualTo(9);
        assertThat(left(another, "ann")).as("does not wait for the slow one").isEqualTo(10);

        request.dispose();
        mayRefund.tryEmitEmpty();

        assertThat(left(early, "ann")).isEqualTo(10);
        assertThat(left(another, "ann")).isEqualTo(10);
        assertThat(handled).hasValue(0);
    }

    @Test
    void clientThatLeavesWhileAnErrorIsGivenBackLosesNothing() {
        Sinks.Empty<Void> mayRefund = Sinks.empty();
        RateLimitRule failing = RateLimitRule.named("late")
                .key(request -> Mono.error(new IllegalStateException("no user")))
                .limiter(late)
                .afterAuthentication()
                .build();
        Disposable request = both(withSlowRefunds(mayRefund, RateLimiter.of(few(10)), failing))
                .subscribe();
        assertThat(left(early, "ann")).isEqualTo(9);

        request.dispose();
        mayRefund.tryEmitEmpty();

        assertThat(left(early, "ann")).isEqualTo(10);
    }

    @Test
    void clientThatLeavesWhileItsOutcomeIsSettledLosesNothing() {
        Sinks.Empty<Void> mayRefund = Sinks.empty();
        RateLimitEngine engine = engine(byUser("early")
                .limiter(SlowRefunds.of(early, mayRefund.asMono()))
                .countStatuses(StatusSet.parse("401"))
                .build());
        Disposable request = RateLimitWebFilter.of(engine)
                .filter(exchange, chain -> chain.getResponse().setComplete())
                .subscribe();
        assertThat(left(early, "ann")).isEqualTo(9);

        request.dispose();
        mayRefund.tryEmitEmpty();

        assertThat(left(early, "ann")).isEqualTo(10);
    }

    @Test
    void clientThatLeavesWhileTheHandlerRunsHasSpentItsPermits() {
        RateLimitEngine engine = engine(byUser("early").limiter(early).build());
        Disposable request = RateLimitWebFilter.of(engine)
                .filter(exchange, chain -> Mono.never())
                .subscribe();

        request.dispose();

        assertThat(left(early, "ann")).isEqualTo(9);
    }

    @Test
    void requestThatIsTriedAgainAfterADenialPaysForWhatWasGivenBack() {
        late.tryAcquire("ann").block();
        RateLimitEngine engine = RateLimitEngine.builder()
                .deniedHandler(
                        (denied, denial) -> late.reset("ann").then(Mono.error(new IllegalStateException("denied"))))
                .rule(byUser("early").limiter(early).build())
                .rule(byUser("late").limiter(late).afterAuthentication().build())
                .build();
        WebFilterChain second = then(RateLimitWebFilter.afterAuthentication(engine), handler);

        RateLimitWebFilter.of(engine)
                .filter(exchange, request -> second.filter(request).retry(1))
                .block();

        assertThat(handled).hasValue(1);
        assertThat(left(late, "ann")).isZero();
        assertThat(left(early, "ann"))
                .as("the first is not asked again by its filter")
                .isEqualTo(9);
    }

    @Test
    void requestThatIsTriedAgainAfterATimeoutPaysForWhatWasGivenBack() {
        late.tryAcquire("ann").block();
        RateLimitEngine engine = engineOf(byUser("late").limiter(late).delay(ofDays(1)));
        WebFilterChain second = then(RateLimitWebFilter.afterAuthentication(engine), handler);
        Sinks.Empty<Void> timeout = Sinks.empty();

        StepVerifier.create(RateLimitWebFilter.of(engine)
                        .filter(
                                exchange,
                                request -> second.filter(request)
                                        .takeUntilOther(timeout.asMono())
                                        .then(Mono.defer(() -> second.filter(request)))))
                .then(() -> assertThat(left(early, "ann")).isEqualTo(9))
                .then(timeout::tryEmitEmpty)
                .then(() -> late.reset("ann").block())
                .verifyComplete();

        assertThat(handled).hasValue(1);
        assertThat(left(late, "ann")).isZero();
        assertThat(left(early, "ann")).isEqualTo(9);
    }

    @Test
    void requestThatIsTriedAgainBehindTheFirstFilterStillHoldsWhatTheFirstTook() {
        RateLimiter parallel = RateLimiter.of(ConcurrencyLimit.of(1));
        RateLimitEngine engine = engine(
                byUser("parallel").limiter(parallel).build(),
                byUser("late").limiter(late).afterAuthentication().build());
        List<Long> leftInHandler = new ArrayList<>();
        WebFilterChain failing = request -> Mono.fromRunnable(() -> {
            leftInHandler.add(left(parallel, "ann"));
            throw new IllegalStateException("try again");
        });
        WebFilterChain second = then(RateLimitWebFilter.afterAuthentication(engine), failing);

        StepVerifier.create(RateLimitWebFilter.of(engine)
                        .filter(exchange, request -> second.filter(request).retry(1)))
                .verifyErrorMessage("try again");

        assertThat(leftInHandler).containsExactly(0L, 0L);
        assertThat(left(parallel, "ann")).isEqualTo(1);
    }

    @Test
    void requestThatIsTriedAgainBeforeTheFilterHoldsAPermitAgainAndGivesItBack() {
        RateLimiter parallel = RateLimiter.of(ConcurrencyLimit.of(1));
        RateLimitEngine engine = engine(byUser("parallel").limiter(parallel).build());
        List<Long> leftInHandler = new ArrayList<>();
        WebFilterChain failing = request -> Mono.fromRunnable(() -> {
            leftInHandler.add(left(parallel, "ann"));
            throw new IllegalStateException("try again");
        });

        StepVerifier.create(Mono.defer(() -> RateLimitWebFilter.of(engine).filter(exchange, failing))
                        .retry(1))
                .verifyErrorMessage("try again");

        assertThat(leftInHandler).containsExactly(0L, 0L);
        assertThat(left(parallel, "ann")).isEqualTo(1);
    }

    @Test
    void errorOfTheHandlerPassesAndThePermitsAreSpent() {
        RateLimitEngine engine = engine(byUser("early").limiter(early).build());

        StepVerifier.create(RateLimitWebFilter.of(engine)
                        .filter(exchange, chain -> Mono.error(new IllegalStateException("broken"))))
                .verifyErrorMessage("broken");
        assertThat(left(early, "ann")).isEqualTo(9);
    }

    @Test
    void fatalErrorsPass() {
        RateLimitEngine engine = engine(RateLimitRule.named("fatal")
                .key(request -> {
                    throw new NoClassDefFoundError("gone");
                })
                .policy(few(1))
                .build());

        assertThatExceptionOfType(NoClassDefFoundError.class)
                .isThrownBy(() ->
                        RateLimitWebFilter.of(engine).filter(exchange, handler).subscribe());
        assertThat(handled).hasValue(0);
    }

    @Test
    void costBelowOneIsAnErrorThatNamesTheRule() {
        RateLimitEngine engine =
                engine(byUser("upload").limiter(early).cost(request -> -1).build());

        StepVerifier.create(RateLimitWebFilter.of(engine).filter(exchange, handler))
                .verifyErrorMessage("cost of rule 'upload' must be positive, was -1");
    }

    @Test
    void timeoutOfTheKeysOwnIsItsError() {
        RateLimitEngine engine = engine(RateLimitRule.named("slow")
                .key(request -> Mono.<String>error(new TimeoutException("of a database"))
                        .hide())
                .policy(few(1))
                .build());

        StepVerifier.create(RateLimitWebFilter.of(engine).filter(exchange, handler))
                .verifyErrorMessage("of a database");
    }

    @Test
    void failureOfALimiterThatIsAskedTogetherWithOthersGivesThemBackTheirs() {
        BrokenLimiter failing = new BrokenLimiter(few(5), Mono.error(new BrokenLimiter.Failure()));
        RateLimitEngine engine = engine(
                byUser("early").limiter(early).build(),
                byUser("failing").limiter(failing).build());

        RateLimitWebFilter.of(engine).filter(exchange, handler).block();

        assertThat(exchange.getResponse().getStatusCode()).isEqualTo(HttpStatus.SERVICE_UNAVAILABLE);
        assertThat(left(early, "ann")).isEqualTo(10);
    }

    @Test
    void unexpectedErrorOfALimiterIsNoAnswerButAnError() {
        BrokenLimiter failing = new BrokenLimiter(few(5), Mono.error(new IllegalArgumentException("bad key")));
        RateLimitEngine engine = engine(
                byUser("x").limiter(failing).onFailure(FailureAction.ALLOW).build());

        StepVerifier.create(RateLimitWebFilter.of(engine).filter(exchange, handler))
                .verifyErrorMessage("bad key");
        assertThat(handled).hasValue(0);
    }
}

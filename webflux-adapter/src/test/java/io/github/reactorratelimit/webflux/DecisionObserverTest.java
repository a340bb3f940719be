package io.github.reactorratelimit.webflux;

import static io.micrometer.observation.tck.TestObservationRegistryAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.observation.DefaultRateLimitObservationConvention;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationContext;
import io.github.reactorratelimit.webflux.testing.BrokenLimiter;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import io.micrometer.observation.tck.TestObservationRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

class DecisionObserverTest {

    private static final String NAME = DefaultRateLimitObservationConvention.NAME;
    private static final String SECRET = "key-of-a-caller";
    private static final WebFilterChain PASSED = exchange -> Mono.empty();

    private final TestObservationRegistry registry = TestObservationRegistry.create();

    private static RateLimitRuleBuilder once(String name) {
        return RateLimitRule.named(name)
                .key(exchange ->
                        Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-Key")))
                .policy(new TokenBucket(1, 1, Duration.ofDays(1)));
    }

    private RateLimitWebFilter filter(RateLimitRule... rules) {
        RateLimitEngineBuilder engine =
                RateLimitEngine.builder().observations(registry).keyTimeout(Duration.ofHours(1));
        for (RateLimitRule rule : rules) {
            engine.rule(rule);
        }
        return RateLimitWebFilter.of(engine.build());
    }

    private static MockServerWebExchange request() {
        return MockServerWebExchange.from(MockServerHttpRequest.get("/").header("X-Key", SECRET));
    }

    private void assertObserved(String limit, String outcome) {
        assertThat(registry)
                .hasNumberOfObservationsWithNameEqualTo(NAME, 1)
                .hasObservationWithNameEqualTo(NAME)
                .that()
                .hasBeenStarted()
                .hasBeenStopped()
                .hasLowCardinalityKeyValue("limiter", limit)
                .hasLowCardinalityKeyValue("outcome", outcome)
                .satisfies(context ->
                        assertThat(context.getAllKeyValues().toString()).doesNotContain(SECRET));
    }

    @Test
    void anAllowedRequestNamesTheLimitsThatWereAsked() {
        filter(once("one").build(), once("other").build())
                .filter(request(), PASSED)
                .block();
        assertObserved("one,other", "allowed");
    }

    @Test
    void aDeniedRequestNamesTheLimitThatDenied() {
        RateLimitRule tight = once("tight").build();
        tight.limiter().tryAcquire(SECRET).block();
        filter(once("loose").build(), tight).filter(request(), PASSED).block();
        assertObserved("tight", "denied");
    }

    @Test
    void aRequestWithoutAKeyIsToldApart() {
        filter(once("keyed").build())
                .filter(MockServerWebExchange.from(MockServerHttpRequest.get("/")), PASSED)
                .block();
        assertObserved("keyed", "missing-key");
    }

    @Test
    void aLimiterThatFailsIsToldApart() {
        RateLimitRule broken = RateLimitRule.named("broken")
                .globalKey()
                .limiter(new BrokenLimiter(TokenBucket.perSecond(1), Mono.error(new BrokenLimiter.Failure())))
                .build();
        filter(broken).filter(request(), PASSED).block();
        assertObserved("broken", "unavailable");
    }

    @Test
    void anErrorOfTheApplicationsOwnCodeIsObserved() {
        RateLimitRule failing = once("failing")
                .key(exchange -> Mono.error(new IllegalStateException("no")))
                .build();
        filter(failing).filter(request(), PASSED).onErrorComplete().block();
        assertObserved("failing", "error");
        assertThat(registry).hasObservationWithNameEqualTo(NAME).that().hasError();
    }

    @Test
    void aClientThatLeavesEndsIt() {
        RateLimitRule slow = once("slow").key(exchange -> Mono.never()).build();
        Disposable request = filter(slow).filter(request(), PASSED).subscribe();
        assertThat(registry)
                .hasObservationWithNameEqualTo(NAME)
                .that()
                .hasBeenStarted()
                .isNotStopped();
        request.dispose();
        assertObserved("slow", "cancelled");
    }

    @Test
    void itHasEndedWhenTheHandlerBeginsAndIsBelowTheObservationOfTheRequest() {
        Observation parent = Observation.start("http.server.requests", registry);
        AtomicReference<Object> seen = new AtomicReference<>();
        WebFilterChain chain = exchange -> Mono.deferContextual(context -> {
            seen.set(context.get(ObservationThreadLocalAccessor.KEY));
            assertObserved("some", "allowed");
            return Mono.empty();
        });
        filter(once("some").build())
                .filter(request(), chain)
                .contextWrite(context -> context.put(ObservationThreadLocalAccessor.KEY, parent))
                .block();
        assertThat(seen.get()).isSameAs(parent);
        assertThat(registry).hasObservationWithNameEqualTo(NAME).that().hasParentObservationEqualTo(parent);
        parent.stop();
    }

    @Test
    void theDecisionSeesItsOwnObservation() {
        AtomicReference<Object> seen = new AtomicReference<>();
        RateLimitRule rule = once("some")
                .key(exchange -> Mono.deferContextual(context -> {
                    seen.set(context.get(ObservationThreadLocalAccessor.KEY));
                    return Mono.just(SECRET);
                }))
                .build();
        filter(rule).filter(request(), PASSED).block();
        assertThat(((Observation) seen.get()).getContext().getName()).isEqualTo(NAME);
    }

    @Test
    void theDecisionSeesTheObservationOfTheRequestWhereItsOwnIsTurnedOff() {
        registry.observationConfig().observationPredicate((name, context) -> !name.equals(NAME));
        Observation request = Observation.start("http.server.requests", registry);
        AtomicReference<Object> seen = new AtomicReference<>();
        RateLimitRule rule = once("some")
                .key(exchange -> Mono.deferContextual(context -> {
                    seen.set(context.get(ObservationThreadLocalAccessor.KEY));
                    return Mono.just(SECRET);
                }))
                .build();
        filter(rule)
                .filter(request(), PASSED)
                .contextWrite(context -> context.put(ObservationThreadLocalAccessor.KEY, request))
                .block();
        request.stop();
        assertThat(seen.get()).isSameAs(request);
        assertThat(registry).hasNumberOfObservationsEqualTo(1);
    }

    @Test
    void aConventionReplacesNameAndKeys() {
        RateLimitEngine engine = RateLimitEngine.builder()
                .rule(once("some").build())
                .observations(registry, new DefaultRateLimitObservationConvention() {
                    @Override
                    public String getName() {
                        return "own.name";
                    }

                    @Override
                    public KeyValues getLowCardinalityKeyValues(RateLimitObservationContext context) {
                        String method = context.exchange()
                                .orElseThrow()
                                .getRequest()
                                .getMethod()
                                .name();
                        return super.getLowCardinalityKeyValues(context).and("method", method);
                    }
                })
                .build();
        RateLimitWebFilter.of(engine).filter(request(), PASSED).block();
        assertThat(registry)
                .hasObservationWithNameEqualTo("own.name")
                .that()
                .hasLowCardinalityKeyValue("method", "GET")
                .hasLowCardinalityKeyValue("outcome", "allowed");
    }

    @Test
    void registryWithoutHandlersIsIdle() {
        assertThat(new DecisionObserver(ObservationRegistry.NOOP, null).isIdle())
                .isTrue();
        assertThat(new DecisionObserver(ObservationRegistry.create(), null).isIdle())
                .isTrue();
        assertThat(new DecisionObserver(registry, null).isIdle()).isFalse();
    }
}

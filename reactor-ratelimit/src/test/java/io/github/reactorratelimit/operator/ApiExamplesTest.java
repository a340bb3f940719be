package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The examples of the design and the Javadoc, as written there: that they compile is half of the test. */
class ApiExamplesTest {

    record Order(String customerId, int lines) {}

    private final Flux<Order> orders = Flux.just(new Order("a", 1), new Order("b", 2));
    private final RateLimiter limiter =
            RateLimiter.builder(TokenBucket.perSecond(100)).build();

    @Test
    void policyAlonePacesAFlux() {
        Flux<Order> paced =
                orders.transform(limitRate(TokenBucket.perSecond(100).withBurst(20)));
        assertThat(paced.collectList().block()).hasSize(2);
    }

    @Test
    void keyCostAndWaitOfElementsNeedNoTypeWitness() {
        Flux<Order> limited = orders.transform(limitRate(
                limiter, spec -> spec.key(Order::customerId).cost(Order::lines).maxWait(ofSeconds(2))));
        assertThat(limited.collectList().block()).hasSize(2);
    }

    @Test
    void subscriptionOfAMonoNeedsNoTypeWitness() {
        Mono<String> quote = Mono.just("42")
                .transform(limitRate(limiter, spec -> spec.key("quotes").reject()));
        assertThat(quote.block()).isEqualTo("42");
    }

    @Test
    void everyChoiceInfersItsTypes() {
        Flux<Order> other = orders.transform(limitRate(
                        limiter,
                        spec -> spec.key(order -> order.customerId())
                                .fallback((order, decision) -> new Order(order.customerId(), 0))))
                .transformDeferred(limitRate(
                        limiter,
                        spec -> spec.drop(
                                (order, decision) -> assertThat(order.lines()).isNotNegative())))
                .transform(limitRate(limiter, spec -> spec.perSubscription().fallback(decision -> Flux.empty())))
                .transform(limitRate(
                        limiter,
                        spec -> spec.keyFromContext(context -> context.getOrDefault("user", "nobody"))
                                .costFromContext(context -> 1)
                                .unordered(8)));
        assertThat(other.collectList().block()).hasSize(2);
        Mono<Order> one = orders.next()
                .transformDeferred(limitRate(limiter))
                .transform(limitRate(limiter, spec -> spec.fallback(decision -> Mono.just(new Order("x", 0)))));
        assertThat(one.block()).isEqualTo(new Order("a", 1));
    }

    @Test
    void variableTakesTheTypeWitness() {
        var paced = RateLimitOperators.<Order>limitRate(TokenBucket.perSecond(100));
        Flux<Order> flux = orders.transform(paced);
        assertThat(flux.collectList().block()).hasSize(2);
    }

    @Test
    void monoYieldsMonoAndAnythingElseFlux() {
        Publisher<Order> bare = orders::subscribe;
        assertThat(RateLimitOperators.<Order>limitRate(limiter).apply(orders.next()))
                .isInstanceOf(Mono.class);
        Publisher<Order> wrapped = RateLimitOperators.<Order>limitRate(limiter).apply(bare);
        assertThat(wrapped).isInstanceOf(Flux.class);
        assertThat(Flux.from(wrapped).collectList().block()).hasSize(2);
    }
}

package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.retry.RateLimitRetry;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;

/**
 * Limits the calls of a {@code WebClient}, and of declarative HTTP interfaces on it: a request is not sent before the limiter allows it.
 *
 * <pre>{@code
 * RateLimiter limiter = RateLimiter.of(LeakyBucket.perSecond(50));
 * WebClient client = WebClient.builder()
 *         .filter(RateLimitExchangeFilter.of(limiter, spec -> spec.maxWait(ofSeconds(2))))
 *         .build();
 * }</pre>
 *
 * <p>By default calls wait per host, see {@link OutboundSpec}, at most until the {@linkplain
 * io.github.reactorratelimit.RateLimitContext#deadline deadline} in the Reactor Context. A denial is a {@link
 * RateLimitExceededException}, and nothing is sent. A cancelled call leaves the queue. After a wait requests are sent from
 * {@code Schedulers.boundedElastic()}, or from the scheduler of the limiter.
 *
 * <p>Answers are read for what they say about the limits of the server: {@link ServerLimitSpec}. A pause is in effect
 * before the caller gets the answer.
 *
 * <p>With a {@link ConcurrencyLimit} a call holds its permits until its body was read to its end, failed, was cancelled or
 * released. As with any {@code WebClient}, a caller that takes a {@code ClientResponse} and does none of these keeps the
 * connection and the permits; {@code retrieve()} and {@code exchangeToMono} release both.
 *
 * <p>Clients should share one filter, also with and without {@link #withRetry}: what is learned adds up within a filter
 * only, see {@link ServerLimitSpec}. Filters registered after this one run when the call is allowed.
 */
public final class RateLimitExchangeFilter implements ExchangeFilterFunction {

    private final RateLimiter limiter;
    private final OutboundSpec spec;
    private final ServerLimitTracker tracker;

    private RateLimitExchangeFilter(RateLimiter limiter, OutboundSpec spec) {
        this.limiter = limiter;
        this.spec = spec;
        this.tracker = new ServerLimitTracker(limiter, spec.learning);
    }

    /** Limits calls per host, waiting however long it takes, and learns from all that answers say. */
    public static RateLimitExchangeFilter of(RateLimiter limiter) {
        return of(limiter, spec -> spec);
    }

    /**
     * Limits calls as {@code spec} says.
     *
     * @throws IllegalArgumentException if calls shall be charged by what they really cost, and the policy of the limiter {@linkplain
     *     io.github.reactorratelimit.RateLimitPolicy#settles() cannot be settled}
     */
    public static RateLimitExchangeFilter of(RateLimiter limiter, UnaryOperator<OutboundSpec> spec) {
        Objects.requireNonNull(limiter, "limiter");
        OutboundSpec chosen = Objects.requireNonNull(spec, "spec").apply(OutboundSpec.DEFAULTS);
        Objects.requireNonNull(chosen, "what spec returned").check(limiter.policy());
        return new RateLimitExchangeFilter(limiter, chosen);
    }

    /**
     * This filter, with retries of refused calls: each attempt requests permits again. What is learned is shared with this
     * filter. See {@link RateLimitExchangeRetry} for the calls that are retried.
     */
    public ExchangeFilterFunction withRetry(RateLimitRetry retry) {
        return RateLimitExchangeRetry.of(retry).andThen(this);
    }

    /** What was learned from answers so far. */
    public ServerLimitStats learned() {
        return tracker.learned();
    }

    @Override
    public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
        return Mono.defer(() -> {
            String key = spec.keyOf(request);
            long cost = spec.costOf(request);
            Mono<ClientResponse> call =
                    Mono.defer(() -> next.exchange(request)).doOnNext(answer -> tracker.learn(key, cost, answer));
            return limited(key, cost, call);
        });
    }

    private Mono<ClientResponse> limited(String key, long cost, Mono<ClientResponse> call) {
        ActualCost actual = spec.actual;
        if (actual != null) {
            return PermitHoldingExchange.of(
                    limiter.reserve(key, cost, spec.maxWait), reserved -> new ReservedPermit(reserved, actual), call);
        }
        if (limiter.policy().needsRelease()) {
            return PermitHoldingExchange.of(limiter.acquireLease(key, cost, spec.maxWait), LeasedPermit::new, call);
        }
        return call.transform(
                limitRate(limiter, gate -> gate.key(key).cost(cost).maxWait(spec.maxWait)));
    }
}

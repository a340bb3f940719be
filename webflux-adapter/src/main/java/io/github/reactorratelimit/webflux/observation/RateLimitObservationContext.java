package io.github.reactorratelimit.webflux.observation;

import io.micrometer.observation.Observation;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.web.server.ServerWebExchange;

/** One decision about a request, from the question to the answer, waits included. Has no key of a caller in it. */
public final class RateLimitObservationContext extends Observation.Context {

    /** How a decision ended. */
    public enum Outcome {
        /** All limits let it pass. */
        ALLOWED,
        /** A limit was used up, or the request costs more than it ever gives. */
        DENIED,
        /** It has no key, and the limit denies such requests. */
        MISSING_KEY,
        /** There was no decision: the store is unavailable, the key took too long, or a limiter failed. */
        UNAVAILABLE,
        /** The client left before there was an answer. */
        CANCELLED,
        /** Another failure, such as one of the application's code for the key or the cost. */
        ERROR
    }

    private final List<String> limits;
    private final @Nullable ServerWebExchange exchange;
    private volatile Outcome outcome = Outcome.CANCELLED;
    private volatile @Nullable String deniedBy;

    /**
     * A decision that has begun.
     *
     * @param limits the names of the limits that are asked, in their order
     * @param exchange the request; null where it is not at hand
     */
    public RateLimitObservationContext(List<String> limits, @Nullable ServerWebExchange exchange) {
        this.limits = List.copyOf(limits);
        this.exchange = exchange;
    }

    /** The names of the limits that were asked, in their order. */
    public List<String> limits() {
        return limits;
    }

    /** The request; empty where a limit was asked without it. */
    public Optional<ServerWebExchange> exchange() {
        return Optional.ofNullable(exchange);
    }

    /** How it ended; cancelled as long as it has not. */
    public Outcome outcome() {
        return outcome;
    }

    /** The name of the limit that did not let it pass; empty if all did. */
    public Optional<String> deniedBy() {
        return Optional.ofNullable(deniedBy);
    }

    /**
     * It ended.
     *
     * @param limit the name of the limit that did not let it pass; null if none did
     */
    public void end(Outcome how, @Nullable String limit) {
        this.deniedBy = limit;
        this.outcome = how;
    }
}

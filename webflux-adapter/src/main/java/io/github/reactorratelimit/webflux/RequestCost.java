package io.github.reactorratelimit.webflux;

import java.util.Objects;
import java.util.function.LongSupplier;
import org.springframework.web.server.ServerWebExchange;

/**
 * How many permits a request costs, decided before it is handled. If it throws, the request fails with that error. A
 * request that costs more than its limit ever gives at once is always denied.
 */
@FunctionalInterface
public interface RequestCost {

    /** Permits of this request, at least 1. */
    long permits(ServerWebExchange exchange);

    /**
     * The same for every request. A rule whose limit never gives as much at once is refused when it is built.
     *
     * @throws IllegalArgumentException if it is below 1
     */
    static RequestCost fixed(long permits) {
        return new FixedCost(permits);
    }

    /**
     * One permit for each {@code bytesPerPermit} of the body that have begun, at least one.
     *
     * @param bytesPerPermit at least 1
     * @param whenUnknown permits of a request that does not say how long its body is; a client chooses that, so choose no less than
     *     what a body may cost
     * @throws IllegalArgumentException if one of them is below 1
     */
    static RequestCost contentLength(long bytesPerPermit, long whenUnknown) {
        if (whenUnknown < 1) {
            throw new IllegalArgumentException("whenUnknown must be positive, was " + whenUnknown);
        }
        return contentLength(bytesPerPermit, () -> whenUnknown);
    }

    /**
     * As {@link #contentLength(long, long)}, with a cost of unknown bodies that may change.
     *
     * @throws IllegalArgumentException if {@code bytesPerPermit} is below 1
     */
    static RequestCost contentLength(long bytesPerPermit, LongSupplier whenUnknown) {
        return new ContentLengthCost(bytesPerPermit, Objects.requireNonNull(whenUnknown, "whenUnknown"));
    }
}

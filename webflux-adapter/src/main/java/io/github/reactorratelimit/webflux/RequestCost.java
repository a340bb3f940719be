package io.github.reactorratelimit.webflux;

import java.util.Set;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;

/**
 * How many permits a request costs, told before it is handled. An error thrown here ends the request with that error. A request
 * that costs more than its limit ever gives at once is denied, and waiting does not help it.
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
        if (bytesPerPermit < 1) {
            throw new IllegalArgumentException("bytesPerPermit must be positive, was " + bytesPerPermit);
        }
        if (whenUnknown < 1) {
            throw new IllegalArgumentException("whenUnknown must be positive, was " + whenUnknown);
        }
        return exchange -> {
            ServerHttpRequest request = exchange.getRequest();
            long bytes = request.getHeaders().getContentLength();
            if (bytes < 0) {
                return mayHaveBody(request) ? whenUnknown : 1;
            }
            return Math.max(1, bytes / bytesPerPermit + (bytes % bytesPerPermit == 0 ? 0 : 1));
        };
    }

    private static boolean mayHaveBody(ServerHttpRequest request) {
        boolean usuallyNone =
                Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS).contains(request.getMethod());
        return !usuallyNone || request.getHeaders().getFirst(HttpHeaders.TRANSFER_ENCODING) != null;
    }
}

package io.github.reactorratelimit.webflux;

import java.util.Set;
import java.util.function.LongSupplier;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;

/** One permit for each {@code bytesPerPermit} of the body that have begun, at least one. */
record ContentLengthCost(long bytesPerPermit, LongSupplier whenUnknown) implements RequestCost {

    private static final Set<HttpMethod> USUALLY_WITHOUT_BODY =
            Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS);

    ContentLengthCost {
        if (bytesPerPermit < 1) {
            throw new IllegalArgumentException("bytesPerPermit must be positive, was " + bytesPerPermit);
        }
    }

    @Override
    public long permits(ServerWebExchange exchange) {
        ServerHttpRequest request = exchange.getRequest();
        long bytes = request.getHeaders().getContentLength();
        if (bytes < 0) {
            return mayHaveBody(request) ? whenUnknown.getAsLong() : 1;
        }
        return Math.max(1, bytes / bytesPerPermit + (bytes % bytesPerPermit == 0 ? 0 : 1));
    }

    private static boolean mayHaveBody(ServerHttpRequest request) {
        return !USUALLY_WITHOUT_BODY.contains(request.getMethod())
                || request.getHeaders().getFirst(HttpHeaders.TRANSFER_ENCODING) != null;
    }
}

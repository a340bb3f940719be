package io.github.reactorratelimit.webflux;

import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Answers a request that was denied. Its response has the status already, {@code Retry-After}, {@code Cache-Control: no-store}, the
 * fields about the limit and those for CORS; a handler writes the body, and may change all of them.
 *
 * <pre>{@code
 * RateLimitDeniedHandler empty = (exchange, denial) -> exchange.getResponse().setComplete();
 * }</pre>
 *
 * <p>It may also signal an error, for the application's own error handling to answer. Never put anything in it that the client sent.
 */
@FunctionalInterface
public interface RateLimitDeniedHandler {

    /** Writes the answer, and completes when it is written. */
    Mono<Void> handle(ServerWebExchange exchange, RateLimitDenial denial);

    /** Writes a problem (RFC 9457) as JSON, or plain text or HTML for clients that would rather have that. */
    static RateLimitDeniedHandler problem() {
        return new ProblemDeniedHandler();
    }
}

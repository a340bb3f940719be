package io.github.reactorratelimit.webflux.key;

import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Finds the key that a request counts for.
 *
 * <p>Whatever it returns is used as it is: two requests share a limit if, and only if, their keys are equal. A key never
 * leaves the application: not in a header, a body, a log or a meter.
 */
@FunctionalInterface
public interface WebKey {

    /**
     * The key of a request. Empty if the request has none: what happens then is the rule's to say, it never passes
     * unlimited. An error ends the request with that error.
     */
    Mono<String> resolve(ServerWebExchange exchange);
}

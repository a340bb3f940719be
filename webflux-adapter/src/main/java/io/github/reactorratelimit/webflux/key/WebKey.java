package io.github.reactorratelimit.webflux.key;

import java.util.Objects;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Finds the key that a request counts for. {@link WebKeys} has the usual ones.
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

    /**
     * This key, or another for requests that have none of this kind. The client decides which it is: it may be worth leaving
     * a header out if the other key's limit is not used up.
     */
    default WebKey orElse(WebKey other) {
        Objects.requireNonNull(other, "other");
        return exchange -> resolve(exchange).switchIfEmpty(Mono.defer(() -> other.resolve(exchange)));
    }
}

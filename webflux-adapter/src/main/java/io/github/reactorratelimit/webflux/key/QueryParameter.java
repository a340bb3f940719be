package io.github.reactorratelimit.webflux.key;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.springframework.http.HttpStatus;
import org.springframework.util.MultiValueMap;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;

/** Reads a parameter of the query. */
final class QueryParameter {

    private QueryParameter() {}

    static Optional<String> only(ServerWebExchange exchange, String name) {
        List<String> values = decoded(exchange).getOrDefault(name, List.of()).stream()
                .map(value -> Objects.requireNonNullElse(value, ""))
                .toList();
        return SentValue.only(values, "parameter " + name);
    }

    /** Spring decodes the query when it is first asked for, and throws if it cannot: the client's mistake, not the server's. */
    private static MultiValueMap<String, String> decoded(ServerWebExchange exchange) {
        try {
            return exchange.getRequest().getQueryParams();
        } catch (IllegalArgumentException e) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "the query is malformed", e);
        }
    }
}

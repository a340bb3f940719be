package io.github.reactorratelimit.webflux.key;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.springframework.web.server.ServerWebExchange;

/** Reads a parameter of the query. What cannot be decoded never comes here: the server refuses such a URI. */
final class QueryParameter {

    private QueryParameter() {}

    static Optional<String> only(ServerWebExchange exchange, String name) {
        List<String> values = exchange.getRequest().getQueryParams().getOrDefault(name, List.of()).stream()
                .map(value -> Objects.requireNonNullElse(value, ""))
                .toList();
        return SingleValue.only(values, "parameter " + name);
    }
}

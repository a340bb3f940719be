package io.github.reactorratelimit.webflux.key;

import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.springframework.web.server.ServerWebExchange;

/** Which headers can be keys, and reading them. */
final class HeaderNames {

    private static final String ADDRESS =
            "every client can write it; count by the client address instead, with the proxies that you trust";
    private static final String CREDENTIALS =
            "it spells one user in many ways; count by the principal or the bearer token instead";

    /** Headers by which a client would change its key at will. */
    private static final Map<String, String> REFUSED = Map.of(
            "x-forwarded-for", ADDRESS,
            "forwarded", ADDRESS,
            "x-real-ip", ADDRESS,
            "true-client-ip", ADDRESS,
            "cf-connecting-ip", ADDRESS,
            "authorization", CREDENTIALS,
            "proxy-authorization", CREDENTIALS,
            "cookie", "it holds all cookies; count by one of them instead");

    private HeaderNames() {}

    /** The name in lower case. */
    static String check(String name) {
        if (!Objects.requireNonNull(name, "name").matches("[-!#$%&'*+.^_`|~0-9A-Za-z]+")) {
            throw new IllegalArgumentException("'" + name + "' is not the name of a header");
        }
        String lowerCase = name.toLowerCase(Locale.ROOT);
        String reason = REFUSED.get(lowerCase);
        if (reason != null) {
            throw new IllegalArgumentException("header '" + name + "' is no key: " + reason);
        }
        return lowerCase;
    }

    static Optional<String> only(ServerWebExchange exchange, String name) {
        return SingleValue.only(exchange.getRequest().getHeaders().getOrEmpty(name), "header " + name);
    }
}

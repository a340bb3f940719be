package io.github.reactorratelimit.webflux.key;

import java.security.Principal;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/**
 * The usual keys of requests. A key begins with what it is of ({@code ip:}, {@code user:}, {@code apikey:} …), so that a user who
 * is called like an address does not count for it.
 *
 * <p>What a client can choose freely is no limit by itself: a header, a cookie, a path variable or a parameter is as
 * good as the application's check of it. Put a limit by {@link #clientAddress(ClientAddress) address} beside it.
 */
public final class WebKeys {

    /** The longest clear key of a composite; what is longer is hashed. */
    private static final int MAX_COMPOSITE_CHARS = 120;

    private WebKeys() {}

    /** The other end of the connection. */
    public static WebKey clientAddress() {
        return clientAddress(ClientAddress.ofPeer());
    }

    /** The network of the client's address, for example {@code ip:192.0.2.1} or {@code ip:2001:db8:1:2::/64}. */
    public static WebKey clientAddress(ClientAddress address) {
        Objects.requireNonNull(address, "address");
        return found(exchange -> address.networkOf(exchange).map(network -> "ip:" + network));
    }

    /**
     * The authenticated user's name, {@code user:alice}. A filter with this key must run after the one that authenticates. The right
     * key where tokens change, as a JWT does.
     */
    public static WebKey principal() {
        return exchange -> exchange.getPrincipal()
                .map(Principal::getName)
                .filter(name -> !name.isBlank())
                .map(WebKeys::keyOfPrincipal);
    }

    /** The key of a user in {@link #principal()}: for an override, or to reset it. */
    public static String keyOfPrincipal(String name) {
        return "user:" + KeyText.bounded(notEmpty("name", name));
    }

    /**
     * The session that the request's own cookie or header names, hashed. A session that this request has begun is none: a client
     * that sends no cookie would have a new one every time.
     */
    public static WebKey session() {
        return exchange -> exchange.getSession()
                .filter(session -> SessionIds.sentBy(exchange.getRequest(), session.getId()))
                .map(session -> "session:" + KeyText.hash(session.getId()));
    }

    /** An API key in a header, hashed; the same key as {@link #apiKeyParameter} finds. Upper and lower case differ. */
    public static WebKey apiKey(String headerName) {
        HeaderNames.check(headerName);
        return found(exchange -> HeaderNames.only(exchange, headerName).map(WebKeys::keyOfApiKey));
    }

    /** An API key in a parameter of the query, hashed; the same key as {@link #apiKey} finds. */
    public static WebKey apiKeyParameter(String parameterName) {
        notEmpty("parameterName", parameterName);
        return found(exchange -> QueryParameter.only(exchange, parameterName).map(WebKeys::keyOfApiKey));
    }

    /** The key of an API key in {@link #apiKey} and {@link #apiKeyParameter}: for an override, or to reset it. */
    public static String keyOfApiKey(String apiKey) {
        return "apikey:" + KeyText.hash(KeyText.stripped(notEmpty("apiKey", apiKey)));
    }

    /**
     * The token of {@code Authorization: Bearer …}, hashed. For tokens that stay the same; {@link #principal()} is better
     * for a JWT, which is renewed. The signature of a JWT is left out, because it can be spelled in several ways.
     */
    public static WebKey bearerToken() {
        return found(exchange -> HeaderNames.only(exchange, "Authorization")
                .flatMap(BearerToken::in)
                .map(token -> "bearer:" + KeyText.hash(token)));
    }

    /** The value of a header, hashed. Upper and lower case differ. */
    public static WebKey header(String name) {
        return header(name, UnaryOperator.identity());
    }

    /**
     * The value of a header, hashed.
     *
     * @param canonical makes spellings equal that the application takes for the same, for example {@code String::toLowerCase}
     */
    public static WebKey header(String name, UnaryOperator<String> canonical) {
        String prefix = "header:" + HeaderNames.check(name) + ":";
        return found(exchange -> canonical(exchange, name, canonical).map(value -> prefix + KeyText.hash(value)));
    }

    /** The value of a header that is no secret, {@code header:x-tenant:acme}: a policy can be found by it. What is long is hashed. */
    public static WebKey clearHeader(String name, UnaryOperator<String> canonical) {
        String prefix = "header:" + HeaderNames.check(name) + ":";
        return found(exchange -> canonical(exchange, name, canonical).map(value -> prefix + KeyText.bounded(value)));
    }

    /** The key of a value, in its canonical form, in {@link #clearHeader}: for an override, or to reset it. */
    public static String keyOfClearHeader(String name, String value) {
        return "header:" + HeaderNames.check(name) + ":" + KeyText.bounded(notEmpty("value", KeyText.stripped(value)));
    }

    private static Optional<String> canonical(
            ServerWebExchange exchange, String name, UnaryOperator<String> canonical) {
        return HeaderNames.only(exchange, name).map(canonical).filter(value -> !value.isEmpty());
    }

    /**
     * The value of a cookie, hashed. Browsers may send several of one name, which a client could use to count for another: all such
     * requests have one key together.
     */
    public static WebKey cookie(String name) {
        String prefix = "cookie:" + KeyText.bounded(notEmpty("name", name)) + ":";
        return found(exchange -> {
            List<String> values =
                    SingleValue.different(exchange.getRequest().getCookies().getOrDefault(name, List.of()).stream()
                            .map(cookie -> cookie.getValue())
                            .toList());
            if (values.size() > 1) {
                return Optional.of(prefix + "several");
            }
            return values.stream()
                    .filter(value -> !value.isEmpty())
                    .findFirst()
                    .map(value -> prefix + KeyText.hash(value));
        });
    }

    /**
     * A variable of the path that the handler was found by. Only for what runs after that, such as a {@code HandlerFilterFunction}; in a
     * {@code WebFilter} there is none yet, and {@link #pathVariable(String, String)} reads the path itself.
     */
    public static WebKey pathVariable(String name) {
        notEmpty("name", name);
        return found(exchange -> PathVariables.ofHandler(exchange, name).map(WebKeys::keyOfPathVariable));
    }

    /** A variable of the path as a pattern finds it, with WebFlux's default parser; its first slash may be left out, as in a mapping. */
    public static WebKey pathVariable(String pattern, String name) {
        PathPatternParser parser = PathPatternParser.defaultInstance;
        return pathVariable(parser.parse(parser.initFullPathPattern(pattern)), name);
    }

    /**
     * A variable of the path as a pattern finds it; requests with another path have no key.
     *
     * @param pattern from the application's own parser, so that both see the same paths
     * @throws IllegalArgumentException if the pattern has no such variable
     */
    public static WebKey pathVariable(PathPattern pattern, String name) {
        PathVariables.checkHas(pattern, notEmpty("name", name));
        return found(exchange -> PathVariables.of(exchange, pattern, name).map(WebKeys::keyOfPathVariable));
    }

    /** The key of a value in {@link #pathVariable(PathPattern, String)}: for an override, or to reset it. */
    public static String keyOfPathVariable(String value) {
        return "path:" + KeyText.bounded(notEmpty("value", KeyText.stripped(value)));
    }

    /** One key for all requests. */
    public static WebKey constant(String key) {
        notEmpty("key", key);
        return exchange -> Mono.just(key);
    }

    /**
     * Several keys together: requests share a limit if all of them are equal. A request has no key if it lacks one of them.
     *
     * @throws IllegalArgumentException if there are none
     */
    public static WebKey composite(WebKey... parts) {
        List<WebKey> all = List.of(parts);
        if (all.isEmpty()) {
            throw new IllegalArgumentException("parts must not be empty");
        }
        return exchange ->
                Mono.zip(all.stream().map(part -> part.resolve(exchange)).toList(), WebKeys::keyOfComposite);
    }

    private static String keyOfComposite(Object[] parts) {
        String joined =
                KeyText.joined(Arrays.stream(parts).map(Object::toString).toList());
        return "all:" + (joined.length() <= MAX_COMPOSITE_CHARS ? joined : "#" + KeyText.hash(joined));
    }

    private static String notEmpty(String what, String value) {
        if (Objects.requireNonNull(value, what).isEmpty()) {
            throw new IllegalArgumentException(what + " must not be empty");
        }
        return value;
    }

    private static WebKey found(Function<ServerWebExchange, Optional<String>> find) {
        return exchange -> {
            try {
                return Mono.justOrEmpty(find.apply(exchange));
            } catch (RuntimeException e) {
                return Mono.error(e);
            }
        };
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.key.Cidr;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.WebKey;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * The key of a limit as the configuration says it: {@code ip}, {@code api-key:X-Api-Key}, {@code
 * principal or ip}.
 *
 * @param alternatives the first one that a request has counts
 */
public record LimitKey(List<Source> alternatives) {

    /** Where a key comes from. */
    public enum Kind {
        /** The client's address. */
        IP(""),
        /** The authenticated user. */
        PRINCIPAL(""),
        /** The session of the request. */
        SESSION(""),
        /** The token of {@code Authorization: Bearer}. */
        BEARER_TOKEN(""),
        /** The value of a header. */
        HEADER("<name>"),
        /** An API key in a header. */
        API_KEY("<header>"),
        /** An API key in a parameter of the query. */
        API_KEY_PARAMETER("<name>"),
        /** The value of a cookie. */
        COOKIE("<name>"),
        /** A variable of the path. */
        PATH("<pattern>#<variable>"),
        /** A bean of the application, a {@code WebKey}. */
        BEAN("<name>"),
        /** One key for all requests. */
        ALL("");

        private final String argument;

        Kind(String argument) {
            this.argument = argument;
        }

        String text() {
            return PropertyChecks.written(this);
        }

        String form() {
            return argument.isEmpty() ? text() : text() + ":" + argument;
        }
    }

    /**
     * One source of a key.
     *
     * @param kind where it comes from
     * @param argument the name of the header, cookie … ; empty if the kind needs none
     */
    public record Source(Kind kind, String argument) {

        private WebKey key(Maker maker, boolean legible) {
            return switch (kind) {
                case IP -> WebKeys.clientAddress(maker.address);
                case PRINCIPAL -> WebKeys.principal();
                case SESSION -> WebKeys.session();
                case BEARER_TOKEN -> WebKeys.bearerToken();
                case HEADER ->
                    legible ? WebKeys.clearHeader(argument, UnaryOperator.identity()) : WebKeys.header(argument);
                case API_KEY -> WebKeys.apiKey(argument);
                case API_KEY_PARAMETER -> WebKeys.apiKeyParameter(argument);
                case COOKIE -> WebKeys.cookie(argument);
                case PATH -> maker.pathVariable(argument);
                case BEAN -> maker.beans.apply(argument);
                case ALL -> WebKeys.constant("*");
            };
        }

        private String named(Maker maker, String name) {
            return switch (kind) {
                case IP -> "ip:" + maker.network(name);
                case PRINCIPAL -> WebKeys.keyOfPrincipal(name);
                case API_KEY, API_KEY_PARAMETER -> WebKeys.keyOfApiKey(name);
                case HEADER -> WebKeys.keyOfClearHeader(argument, name);
                case PATH -> WebKeys.keyOfPathVariable(name);
                case BEAN -> name;
                case SESSION, BEARER_TOKEN, COOKIE, ALL ->
                    throw new IllegalArgumentException("overrides are not for keys of " + kind.text()
                            + "; they are for ip, principal, api-key, header, path and bean");
            };
        }

        @Override
        public String toString() {
            return argument.isEmpty() ? kind.text() : kind.text() + ":" + argument;
        }
    }

    public LimitKey {
        alternatives = List.copyOf(alternatives);
    }

    /**
     * Reads a key.
     *
     * @throws IllegalArgumentException if it is none, saying what is allowed
     */
    public static LimitKey parse(String text) {
        return new LimitKey(Arrays.stream(Objects.requireNonNull(text, "text").split("\\s+or\\s+", -1))
                .map(LimitKey::source)
                .toList());
    }

    private static Source source(String written) {
        String text = written.strip();
        int colon = text.indexOf(':');
        String name = colon < 0 ? text : text.substring(0, colon);
        String argument = colon < 0 ? "" : text.substring(colon + 1).strip();
        return Arrays.stream(Kind.values())
                .filter(kind -> kind.text().equalsIgnoreCase(name.replace('_', '-'))
                        && kind.argument.isEmpty() == argument.isEmpty())
                .findFirst()
                .map(kind -> new Source(kind, argument))
                .orElseThrow(
                        () -> new IllegalArgumentException(
                                "'" + text + "' is no key; allowed are " + allowed()
                                        + "; several in a list are one key together, 'principal or ip' is the first that a request has"));
    }

    private static String allowed() {
        return Arrays.stream(Kind.values()).map(Kind::form).collect(Collectors.joining(", "));
    }

    /** Whether it can be found only after authentication. */
    boolean needsUser() {
        return alternatives.stream().anyMatch(source -> source.kind() == Kind.PRINCIPAL);
    }

    /** Whether only authenticated requests have it. */
    boolean isOnlyOfUsers() {
        return alternatives.stream().allMatch(source -> source.kind() == Kind.PRINCIPAL);
    }

    /**
     * What keys of requests are made with.
     *
     * @param beans yields the application's {@code WebKey} bean of a name, or throws an {@link IllegalArgumentException}
     */
    record Maker(ClientAddress address, PathPatternParser parser, Function<String, WebKey> beans) {

        private WebKey pathVariable(String argument) {
            int hash = argument.lastIndexOf('#');
            if (hash < 0) {
                throw new IllegalArgumentException(
                        "'path:" + argument + "' names no variable; write path:/users/{id}#id");
            }
            String pattern = parser.initFullPathPattern(argument.substring(0, hash));
            return WebKeys.pathVariable(parser.parse(pattern), argument.substring(hash + 1));
        }

        private String network(String name) {
            Cidr block = Cidr.parse(name.strip());
            boolean ipv4 = block.network().isIpv4();
            int counted = ipv4 ? address.ipv4Prefix() : address.ipv6Prefix();
            if (block.prefixBits() != counted) {
                throw new IllegalArgumentException("'" + name + "' is no network that is counted: write one of "
                        + counted + " bits, as addresses are counted by");
            }
            return counted == (ipv4 ? 32 : 128) ? block.network().toString() : block.toString();
        }
    }

    /**
     * One key of several parts together.
     *
     * @param legible whether values of a header stay readable, because some have an override
     */
    static WebKey together(List<LimitKey> parts, Maker maker, boolean legible) {
        WebKey[] keys = parts.stream()
                .map(part -> part.alternatives.stream()
                        .map(source -> source.key(maker, legible))
                        .reduce(WebKey::orElse)
                        .orElseThrow())
                .toArray(WebKey[]::new);
        return keys.length == 1 ? keys[0] : WebKeys.composite(keys);
    }

    /**
     * The key that an override is for.
     *
     * @param name the client's name in the configuration
     * @throws IllegalArgumentException if the name does not determine the key
     */
    static String named(List<LimitKey> parts, Maker maker, String name) {
        if (parts.size() != 1 || parts.get(0).alternatives.size() != 1) {
            throw new IllegalArgumentException("overrides are for limits with one key only");
        }
        return parts.get(0).alternatives.get(0).named(maker, name);
    }

    @Override
    public String toString() {
        return alternatives.stream().map(Source::toString).collect(Collectors.joining(" or "));
    }
}

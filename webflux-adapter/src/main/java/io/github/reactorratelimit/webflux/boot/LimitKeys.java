package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.boot.LimitKey.Kind;
import io.github.reactorratelimit.webflux.boot.LimitKey.Source;
import io.github.reactorratelimit.webflux.key.Cidr;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.WebKey;
import io.github.reactorratelimit.webflux.key.WebKeys;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.springframework.web.util.pattern.PathPatternParser;

/** Makes the keys of requests that the configuration describes. */
final class LimitKeys {

    private final ClientAddress address;
    private final PathPatternParser parser;
    private final Function<String, WebKey> beans;

    /**
     * @param beans yields the application's {@code WebKey} bean of a name, or throws an {@link IllegalArgumentException}
     */
    LimitKeys(ClientAddress address, PathPatternParser parser, Function<String, WebKey> beans) {
        this.address = address;
        this.parser = parser;
        this.beans = beans;
    }

    /**
     * The key of a limit.
     *
     * @param legible whether values of a header stay readable, because some have an override
     */
    WebKey key(List<LimitKey> parts, boolean legible) {
        WebKey[] keys = parts.stream().map(part -> either(part, legible)).toArray(WebKey[]::new);
        return keys.length == 1 ? keys[0] : WebKeys.composite(keys);
    }

    private WebKey either(LimitKey key, boolean legible) {
        return key.alternatives().stream()
                .map(source -> of(source, legible))
                .reduce(WebKey::orElse)
                .orElseThrow();
    }

    private WebKey of(Source source, boolean legible) {
        String argument = source.argument();
        return switch (source.kind()) {
            case IP -> WebKeys.clientAddress(address);
            case PRINCIPAL -> WebKeys.principal();
            case SESSION -> WebKeys.session();
            case BEARER_TOKEN -> WebKeys.bearerToken();
            case HEADER -> legible ? WebKeys.clearHeader(argument, UnaryOperator.identity()) : WebKeys.header(argument);
            case API_KEY -> WebKeys.apiKey(argument);
            case API_KEY_PARAMETER -> WebKeys.apiKeyParameter(argument);
            case COOKIE -> WebKeys.cookie(argument);
            case PATH -> pathVariable(argument);
            case BEAN -> beans.apply(argument);
            case ALL -> WebKeys.constant("*");
        };
    }

    private WebKey pathVariable(String argument) {
        int hash = argument.lastIndexOf('#');
        if (hash < 0) {
            throw new IllegalArgumentException("'path:" + argument + "' names no variable; write path:/users/{id}#id");
        }
        String pattern = parser.initFullPathPattern(argument.substring(0, hash));
        return WebKeys.pathVariable(parser.parse(pattern), argument.substring(hash + 1));
    }

    /**
     * The key that an override is for.
     *
     * @param name the client's name in the configuration
     * @throws IllegalArgumentException if the name does not determine the key
     */
    String named(List<LimitKey> parts, String name) {
        if (parts.size() != 1 || parts.get(0).alternatives().size() != 1) {
            throw new IllegalArgumentException("overrides are for limits with one key only");
        }
        Source source = parts.get(0).alternatives().get(0);
        return switch (source.kind()) {
            case IP -> "ip:" + network(name);
            case PRINCIPAL -> WebKeys.keyOfPrincipal(name);
            case API_KEY, API_KEY_PARAMETER -> WebKeys.keyOfApiKey(name);
            case HEADER -> WebKeys.keyOfClearHeader(source.argument(), name);
            case PATH -> WebKeys.keyOfPathVariable(name);
            case BEAN -> name;
            case SESSION, BEARER_TOKEN, COOKIE, ALL ->
                throw new IllegalArgumentException("overrides are not for keys of "
                        + source.kind().text() + "; they are for " + Kind.IP.text()
                        + ", principal, api-key, header, path and bean");
        };
    }

    private String network(String name) {
        Cidr block = Cidr.parse(name.strip());
        boolean ipv4 = block.network().isIpv4();
        int bits = ipv4 ? 32 : 128;
        int counted = ipv4 ? address.ipv4Prefix() : address.ipv6Prefix();
        if (block.prefixBits() != counted) {
            throw new IllegalArgumentException("'" + name + "' is no network that is counted: write one of " + counted
                    + " bits, as addresses are counted by");
        }
        return counted == bits ? block.network().toString() : block.toString();
    }
}

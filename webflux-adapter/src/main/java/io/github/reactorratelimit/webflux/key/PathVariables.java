package io.github.reactorratelimit.webflux.key;

import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPattern;

/** Reads variables of paths: decoded, without matrix parameters. */
final class PathVariables {

    private PathVariables() {}

    static void checkHas(PathPattern pattern, String name) {
        Pattern variable = Pattern.compile("\\{\\*?" + Pattern.quote(name) + "[:}]");
        if (!variable.matcher(pattern.getPatternString()).find()) {
            throw new IllegalArgumentException(
                    "pattern '" + pattern.getPatternString() + "' has no variable '" + name + "'");
        }
    }

    static Optional<String> of(ServerWebExchange exchange, PathPattern pattern, String name) {
        return Optional.ofNullable(
                        pattern.matchAndExtract(exchange.getRequest().getPath().pathWithinApplication()))
                .flatMap(match -> variable(match.getUriVariables(), name));
    }

    /** Annotated and functional handlers note their variables in attributes of their own. */
    static Optional<String> ofHandler(ServerWebExchange exchange, String name) {
        return Stream.of(
                        HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE,
                        RouterFunctions.URI_TEMPLATE_VARIABLES_ATTRIBUTE)
                .map(exchange::<Map<String, String>>getAttribute)
                .flatMap(Stream::ofNullable)
                .flatMap(variables -> variable(variables, name).stream())
                .findFirst();
    }

    private static Optional<String> variable(Map<String, String> variables, String name) {
        return Optional.ofNullable(variables.get(name)).map(KeyText::stripped).filter(value -> !value.isEmpty());
    }
}

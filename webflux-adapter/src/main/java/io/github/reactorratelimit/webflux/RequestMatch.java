package io.github.reactorratelimit.webflux;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Which requests a rule is for, before its patterns are read by the application's parser.
 *
 * @param paths one of which has to match; empty for every path
 * @param methods one of which it must have; empty for every method
 * @param condition which has to be true; null for every request
 */
record RequestMatch(
        List<String> paths,
        Set<HttpMethod> methods,
        @Nullable Predicate<ServerWebExchange> condition) {

    static final RequestMatch ALL = new RequestMatch(List.of(), Set.of(), null);

    RequestMatch withPaths(List<String> patterns) {
        PathPatternParser parser = PathPatternParser.defaultInstance;
        patterns.forEach(pattern -> parser.parse(parser.initFullPathPattern(pattern)));
        return new RequestMatch(concat(paths, patterns), methods, condition);
    }

    RequestMatch withMethods(Collection<HttpMethod> more) {
        Set<HttpMethod> all = Stream.concat(methods.stream(), more.stream())
                .flatMap(method ->
                        method.equals(HttpMethod.GET) ? Stream.of(method, HttpMethod.HEAD) : Stream.of(method))
                .collect(Collectors.toUnmodifiableSet());
        return new RequestMatch(paths, all, condition);
    }

    RequestMatch withCondition(Predicate<? super ServerWebExchange> another) {
        return new RequestMatch(paths, methods, condition == null ? another::test : condition.and(another));
    }

    private static List<String> concat(List<String> some, List<String> others) {
        return Stream.concat(some.stream(), others.stream()).toList();
    }
}

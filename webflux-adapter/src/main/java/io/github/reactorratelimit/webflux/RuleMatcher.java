package io.github.reactorratelimit.webflux;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;

/** Finds the rules that a filter applies to a request. */
final class RuleMatcher {

    private final List<Candidate> candidates;
    private final @Nullable Predicate<ServerWebExchange> managed;

    /** A rule and its paths; null if it is for every path. */
    private record Candidate(RateLimitRule rule, @Nullable PathMatch paths) {}

    /**
     * @param parser reads the path patterns of the rules
     * @param managed requests to which only rules with paths apply; null if there are none
     */
    RuleMatcher(List<RateLimitRule> rules, PathPatternParser parser, @Nullable Predicate<ServerWebExchange> managed) {
        this.candidates = rules.stream()
                .map(rule -> new Candidate(rule, rule.paths().isEmpty() ? null : new PathMatch(rule.paths(), parser)))
                .toList();
        this.managed = managed;
    }

    /** The rules that match, in order. A CORS preflight matches only rules that name the method OPTIONS. */
    List<RateLimitRule> match(ServerWebExchange exchange) {
        if (candidates.isEmpty()) {
            return List.of();
        }
        HttpMethod method = exchange.getRequest().getMethod();
        boolean preflight = CorsUtils.isPreFlightRequest(exchange.getRequest());
        boolean needsPaths = managed != null && managed.test(exchange);
        PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
        List<RateLimitRule> matching = new ArrayList<>(candidates.size());
        for (Candidate candidate : candidates) {
            Set<HttpMethod> methods = candidate.rule.methods();
            Predicate<ServerWebExchange> condition = candidate.rule.condition();
            if ((methods.isEmpty() ? !preflight : methods.contains(method))
                    && (candidate.paths == null ? !needsPaths : candidate.paths.matches(path))
                    && (condition == null || condition.test(exchange))) {
                matching.add(candidate.rule);
            }
        }
        return matching;
    }
}

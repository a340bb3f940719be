package io.github.reactorratelimit.webflux.boot;

import java.util.Optional;
import java.util.function.Predicate;
import org.springframework.core.env.Environment;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;
import org.springframework.web.server.ServerWebExchange;

/**
 * The paths of the Actuator's endpoints. A limit without paths is not for them: whoever watches an application should not be denied because its
 * clients are, nor use up their permits.
 */
final class EndpointPaths {

    private static final String ENDPOINTS =
            "org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties";
    private static final String BASE_PATH = "management.endpoints.web.base-path";

    private EndpointPaths() {}

    /** Requests for endpoints; empty if there are none, or they lie between the application's own paths. */
    static Optional<Predicate<ServerWebExchange>> of(Environment environment) {
        String base = StringUtils.trimTrailingCharacter(environment.getProperty(BASE_PATH, "/actuator"), '/');
        return base.isEmpty() || !ClassUtils.isPresent(ENDPOINTS, EndpointPaths.class.getClassLoader())
                ? Optional.empty()
                : Optional.of(below(PathContainer.parsePath(base.startsWith("/") ? base : "/" + base)));
    }

    /** Only what is written plainly: whatever somebody may read as another path than it looks like is limited. */
    private static Predicate<ServerWebExchange> below(PathContainer base) {
        String plain = base.value();
        return exchange -> {
            PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
            String value = path.value();
            return value.startsWith(plain)
                    && (value.length() == plain.length() || value.charAt(plain.length()) == '/')
                    && value.indexOf('%') < 0
                    && !value.contains("//")
                    && path.elements().stream().noneMatch(EndpointPaths::isDots);
        };
    }

    private static boolean isDots(PathContainer.Element element) {
        return element instanceof PathSegment segment
                && (segment.valueToMatch().equals(".") || segment.valueToMatch().equals(".."));
    }
}

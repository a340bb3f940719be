package io.github.reactorratelimit.webflux.boot;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoint;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.actuate.endpoint.web.WebServerNamespace;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.http.server.PathContainer;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Requests for the endpoints of the Actuator, by operators, probes and scrapers. Only plain paths count: another
 * spelling might lead to another handler. If the endpoints have a separate server, the same paths on the application's
 * server are the application's.
 */
final class ManagementRequests implements Predicate<ServerWebExchange> {

    private static final Pattern PLAIN = Pattern.compile("(?:/(?!\\.{1,2}(?:/|$))[\\w.~-]+)+/?");

    private final ObjectProvider<PathMappedEndpoints> endpoints;
    private final boolean onOwnServer;

    /** By server. Known after the start: the endpoints need the limits that this one is for. */
    private final Map<WebServerNamespace, List<PathPattern>> patterns = new ConcurrentHashMap<>();

    /** @param onOwnServer whether the endpoints have a server of their own */
    ManagementRequests(ObjectProvider<PathMappedEndpoints> endpoints, boolean onOwnServer) {
        this.endpoints = endpoints;
        this.onOwnServer = onOwnServer;
    }

    /** What paths on the endpoints' own server begin with is no part of the path within the application. */
    @Override
    public boolean test(ServerWebExchange exchange) {
        PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
        return PLAIN.matcher(path.value()).matches()
                && patterns.computeIfAbsent(serverOf(exchange), this::patterns).stream()
                        .anyMatch(pattern -> pattern.matches(path));
    }

    private static WebServerNamespace serverOf(ServerWebExchange exchange) {
        return WebServerNamespace.from(
                WebServerApplicationContext.getServerNamespace(exchange.getApplicationContext()));
    }

    private List<PathPattern> patterns(WebServerNamespace server) {
        return endpoints.stream()
                .flatMap(all -> paths(all, server).stream())
                .map(PathPatternParser.defaultInstance::parse)
                .toList();
    }

    private List<String> paths(PathMappedEndpoints all, WebServerNamespace server) {
        List<String> paths = new ArrayList<>();
        if (!onOwnServer || server.equals(WebServerNamespace.MANAGEMENT)) {
            String base = all.getBasePath();
            if (!base.isEmpty() && !base.equals("/")) {
                paths.add(base);
            }
            all.getAllPaths().forEach(path -> paths.add(path + "/**"));
        }
        for (PathMappedEndpoint endpoint : all) {
            endpoint.getAdditionalPaths(server).forEach(path -> paths.add(path + "/**"));
        }
        return paths;
    }
}

package io.github.reactorratelimit.webflux.boot;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoint;
import org.springframework.boot.actuate.endpoint.web.PathMappedEndpoints;
import org.springframework.boot.actuate.endpoint.web.WebServerNamespace;
import org.springframework.http.server.PathContainer;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Requests for the endpoints of the Actuator: operators, probes and those who collect meters. Only paths that everybody reads alike are among them: another
 * spelling might lead somewhere else.
 */
final class ManagementRequests implements Predicate<ServerWebExchange> {

    private static final Pattern PLAIN = Pattern.compile("(?:/(?!\\.{1,2}(?:/|$))[\\w.~-]+)+/?");

    private final ObjectProvider<PathMappedEndpoints> endpoints;
    private final String serverPath;

    /** Known after the start: the endpoints need the limits that this one is for. */
    private volatile @Nullable List<PathPattern> patterns;

    /** @param serverPath what paths on a server for the endpoints alone begin with; may be empty */
    ManagementRequests(ObjectProvider<PathMappedEndpoints> endpoints, String serverPath) {
        this.endpoints = endpoints;
        this.serverPath = serverPath;
    }

    @Override
    public boolean test(ServerWebExchange exchange) {
        PathContainer path = exchange.getRequest().getPath().pathWithinApplication();
        return PLAIN.matcher(path.value()).matches() && patterns().stream().anyMatch(pattern -> pattern.matches(path));
    }

    private List<PathPattern> patterns() {
        List<PathPattern> known = patterns;
        if (known == null) {
            known = endpoints.stream()
                    .flatMap(this::paths)
                    .map(PathPatternParser.defaultInstance::parse)
                    .toList();
            patterns = known;
        }
        return known;
    }

    private Stream<String> paths(PathMappedEndpoints all) {
        List<String> paths = new ArrayList<>();
        String base = all.getBasePath();
        if (!base.isEmpty() && !base.equals("/")) {
            paths.add(base);
        }
        all.getAllPaths().forEach(path -> paths.add(path + "/**"));
        for (PathMappedEndpoint endpoint : all) {
            for (WebServerNamespace server : List.of(WebServerNamespace.SERVER, WebServerNamespace.MANAGEMENT)) {
                endpoint.getAdditionalPaths(server).forEach(path -> paths.add(path + "/**"));
            }
        }
        return serverPath.isEmpty()
                ? paths.stream()
                : Stream.concat(paths.stream(), paths.stream().map(path -> serverPath + path));
    }
}

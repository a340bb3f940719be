package io.github.reactorratelimit.webflux;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Matches paths at least as widely as the application's handler mappings do. They compare segments decoded and without matrix parameters,
 * and so does this. Filters that come later may drop slashes, and servers in front may resolve dot segments; so a path that has superfluous
 * ones is tried without them too. It may count a request that no handler answers; it never misses one that a handler does.
 */
final class PathMatch {

    private final List<PathPattern> patterns;

    PathMatch(List<String> patterns, PathPatternParser parser) {
        this.patterns = patterns.stream()
                .map(pattern -> parser.parse(parser.initFullPathPattern(pattern)))
                .toList();
    }

    boolean matches(PathContainer path) {
        if (patterns.isEmpty() || matchesAsItIs(path)) {
            return true;
        }
        return !isPlain(path) && matchesAsItIs(plain(path));
    }

    private boolean matchesAsItIs(PathContainer path) {
        for (PathPattern pattern : patterns) {
            if (pattern.matches(path)) {
                return true;
            }
        }
        return false;
    }

    /** Separators and segments take turns, the last is a segment, and none of the segments is empty or a dot segment. */
    private static boolean isPlain(PathContainer path) {
        List<PathContainer.Element> elements = path.elements();
        for (int i = 0; i < elements.size(); i++) {
            boolean segmentExpected = i % 2 == 1;
            if (elements.get(i) instanceof PathSegment segment
                    ? !segmentExpected || isSuperfluous(segment)
                    : segmentExpected) {
                return false;
            }
        }
        return elements.size() % 2 == 0;
    }

    private static boolean isSuperfluous(PathSegment segment) {
        String value = segment.valueToMatch();
        return value.isEmpty() || value.equals(".") || value.equals("..");
    }

    private static PathContainer plain(PathContainer path) {
        Deque<PathSegment> kept = new ArrayDeque<>();
        for (PathContainer.Element element : path.elements()) {
            if (element instanceof PathSegment segment) {
                if (!isSuperfluous(segment)) {
                    kept.addLast(segment);
                } else if (segment.valueToMatch().equals("..")) {
                    kept.pollLast();
                }
            }
        }
        StringBuilder plain = new StringBuilder();
        kept.forEach(segment -> plain.append('/').append(segment.value()));
        return PathContainer.parsePath(plain.isEmpty() ? "/" : plain.toString());
    }
}

package io.github.reactorratelimit.webflux;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.springframework.http.server.PathContainer;
import org.springframework.http.server.PathContainer.PathSegment;
import org.springframework.util.StringUtils;
import org.springframework.web.util.UriUtils;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Matches paths at least as widely as the application's handlers do. Its mappings compare segments decoded and without matrix parameters, and
 * so does this. Other filters, servers, and handlers of many paths such as those of static files may read a path otherwise: drop slashes
 * and dots, take an encoded slash or backslash for a slash, leave matrix parameters where they are. So a path of that kind is tried
 * in these readings too. How one with {@code ..} is resolved depends on the order of all that, and no honest client sends it: it matches
 * every pattern. Requests may be counted that no handler of the rule would answer; none is missed that one does.
 */
final class PathMatch {

    private final List<PathPattern> patterns;

    PathMatch(List<String> patterns, PathPatternParser parser) {
        this.patterns = patterns.stream()
                .map(pattern -> parser.parse(parser.initFullPathPattern(pattern)))
                .toList();
    }

    boolean matches(PathContainer path) {
        if (matchesAsItIs(path)) {
            return true;
        }
        return !isPlain(path)
                && (matchesReadAs(pieces(path, PathSegment::valueToMatch))
                        || matchesReadAs(pieces(path, PathMatch::withParameters)));
    }

    private boolean matchesAsItIs(PathContainer path) {
        for (PathPattern pattern : patterns) {
            if (pattern.matches(path)) {
                return true;
            }
        }
        return false;
    }

    private boolean matchesReadAs(List<String> pieces) {
        if (pieces.contains("..")) {
            return true;
        }
        StringBuilder path = new StringBuilder("/");
        for (String piece : pieces) {
            path.append(path.length() > 1 ? "/" : "").append(UriUtils.encode(piece, UTF_8));
        }
        return matchesAsItIs(PathContainer.parsePath(path.toString()));
    }

    /** Separators and segments alternate, the last one is a segment, and all have one reading. */
    private static boolean isPlain(PathContainer path) {
        List<PathContainer.Element> elements = path.elements();
        for (int i = 0; i < elements.size(); i++) {
            boolean segmentExpected = i % 2 == 1;
            if (elements.get(i) instanceof PathSegment segment
                    ? !segmentExpected || !isPlain(segment)
                    : segmentExpected) {
                return false;
            }
        }
        return elements.size() % 2 == 0;
    }

    private static boolean isPlain(PathSegment segment) {
        String value = segment.valueToMatch();
        return !value.isEmpty()
                && !value.equals(".")
                && !value.equals("..")
                && value.indexOf('/') < 0
                && value.indexOf('\\') < 0
                && segment.parameters().isEmpty();
    }

    private static String withParameters(PathSegment segment) {
        return UriUtils.decode(segment.value(), UTF_8);
    }

    /** What lies between slashes of any kind, but for what is empty or a dot. */
    private static List<String> pieces(PathContainer path, Function<PathSegment, String> reading) {
        List<String> pieces = new ArrayList<>();
        for (PathContainer.Element element : path.elements()) {
            if (element instanceof PathSegment segment) {
                for (String piece : StringUtils.tokenizeToStringArray(reading.apply(segment), "/\\", false, true)) {
                    if (!piece.equals(".")) {
                        pieces.add(piece);
                    }
                }
            }
        }
        return pieces;
    }
}

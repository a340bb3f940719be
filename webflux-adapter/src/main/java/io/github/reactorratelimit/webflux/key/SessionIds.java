package io.github.reactorratelimit.webflux.key;

import java.util.List;
import org.springframework.http.server.reactive.ServerHttpRequest;

/** Tells sessions that a client came with from those that were begun for it. */
final class SessionIds {

    private SessionIds() {}

    /** Whether a cookie or header of the request, of whatever name, is the session's id. */
    static boolean sentBy(ServerHttpRequest request, String id) {
        return request.getCookies().values().stream()
                        .flatMap(List::stream)
                        .anyMatch(cookie -> cookie.getValue().equals(id))
                || request.getHeaders().headerSet().stream()
                        .anyMatch(header -> header.getValue().contains(id));
    }
}

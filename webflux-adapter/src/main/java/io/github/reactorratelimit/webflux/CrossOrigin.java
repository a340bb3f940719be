package io.github.reactorratelimit.webflux;

import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.cors.reactive.CorsUtils;

/** Which requests come from the script of another origin. */
final class CrossOrigin {

    private CrossOrigin() {}

    /** False also if what stands in {@code Origin} is none: no browser sends that, so nobody would read CORS headers. */
    static boolean isCrossOrigin(ServerHttpRequest request) {
        try {
            return CorsUtils.isCorsRequest(request);
        } catch (IllegalArgumentException | IllegalStateException malformed) {
            return false;
        }
    }
}

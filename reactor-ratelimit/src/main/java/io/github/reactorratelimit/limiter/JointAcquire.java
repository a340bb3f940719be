package io.github.reactorratelimit.limiter;

import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import reactor.core.publisher.Mono;

/** Asks several limiters, all or nothing. */
public final class JointAcquire {

    private JointAcquire() {}

    public static Mono<JointDecision> of(List<RateLimiter.Ask> asks) {
        throw new UnsupportedOperationException();
    }
}

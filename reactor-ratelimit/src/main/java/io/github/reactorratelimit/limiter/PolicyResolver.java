package io.github.reactorratelimit.limiter;

import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Finds the policy of a key. */
public final class PolicyResolver {

    /** Every key has the limiter's own policy. */
    public static final PolicyResolver NONE = new PolicyResolver();

    private PolicyResolver() {}

    public static PolicyResolver cached(
            Function<? super String, ? extends Mono<? extends RateLimitPolicy>> resolver, Duration cacheFor) {
        throw new UnsupportedOperationException();
    }
}

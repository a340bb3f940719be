package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.Map;
import reactor.core.publisher.Mono;

/** The policies of keys that have their own; a limiter looks each of them up now and then. */
final class KeyPolicies {

    private volatile Map<String, RateLimitPolicy> policies;

    KeyPolicies(Map<String, RateLimitPolicy> policies) {
        this.policies = policies;
    }

    /** Empty if the key has none of its own. */
    Mono<RateLimitPolicy> of(String key) {
        return Mono.justOrEmpty(policies.get(key));
    }

    /** True if they were others. */
    boolean replace(Map<String, RateLimitPolicy> others) {
        boolean differ = !policies.equals(others);
        policies = others;
        return differ;
    }
}

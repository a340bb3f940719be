package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitRuleBuilder;
import io.github.reactorratelimit.webflux.key.WebKey;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Mono;

/** What many tests begin with. */
public final class Rules {

    /** The key is what the client sends in {@code X-User}. */
    public static final WebKey USER =
            exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-User"));

    private Rules() {}

    public static RateLimitRuleBuilder byUser(String name) {
        return RateLimitRule.named(name).key(USER);
    }

    /** Permits that do not come back while a test runs, and have no grid of windows to run into. */
    public static SlidingWindowLog few(int permits) {
        return SlidingWindowLog.of(permits, Duration.ofHours(5));
    }

    public static RateLimitEngine engine(RateLimitRule... rules) {
        return RateLimitEngine.builder().rules(List.of(rules)).build();
    }

    public static long left(RateLimiter limiter, String key) {
        return limiter.peek(key).block().remaining();
    }
}

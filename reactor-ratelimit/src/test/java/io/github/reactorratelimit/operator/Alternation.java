package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;

/** A limiter with a key that is denied for a day, and as many others as one likes that are allowed once. */
final class Alternation {

    static final String DENIED = "denied";

    private Alternation() {}

    static RateLimiter limiter() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, Duration.ofDays(1)));
        DirectLimiter.of(limiter).tryAcquireNow(DENIED, 1);
        return limiter;
    }

    static String everyOtherIsDenied(long element) {
        return element % 2 == 0 ? DENIED : "allowed " + element;
    }
}

package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;

/** The kinds of policy that stand side by side; each takes what it needs of the same settings. */
enum Kind {
    TOKEN_BUCKET,
    GCRA,
    LEAKY_BUCKET,
    FIXED_WINDOW,
    SLIDING_LOG,
    SLIDING_COUNTER,
    CONCURRENCY;

    RateLimitPolicy policy(Settings.Limits limits) {
        Duration window = Duration.ofSeconds(limits.windowSeconds());
        return switch (this) {
            case TOKEN_BUCKET -> TokenBucket.perSecond(limits.rate()).withBurst(limits.burst());
            case GCRA -> Gcra.perSecond(limits.rate()).withBurst(limits.burst());
            case LEAKY_BUCKET -> LeakyBucket.perSecond(limits.rate()).withQueue(limits.queue());
            case FIXED_WINDOW -> FixedWindow.of(limits.perWindow(), window);
            case SLIDING_LOG -> SlidingWindowLog.of(limits.perWindow(), window);
            case SLIDING_COUNTER -> SlidingWindowCounter.of(limits.perWindow(), window);
            case CONCURRENCY -> ConcurrencyLimit.of(limits.inFlight());
        };
    }
}

package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;

/** How fast a policy lets calls go in the long run. */
final class OwnPace {

    private OwnPace() {}

    /** Nanoseconds between two permits; 0 for a policy that knows no rate. */
    static double nanosPerPermit(RateLimitPolicy policy) {
        if (policy instanceof CompositePolicy all) {
            return all.parts().stream()
                    .mapToDouble(OwnPace::nanosPerPermit)
                    .max()
                    .orElse(0);
        }
        if (policy instanceof TokenBucket bucket) {
            return each(bucket.period(), bucket.refill());
        }
        if (policy instanceof Gcra gcra) {
            return each(gcra.period(), gcra.permits());
        }
        if (policy instanceof LeakyBucket bucket) {
            return each(bucket.period(), bucket.permits());
        }
        if (policy instanceof FixedWindow fixed) {
            return each(fixed.window(), fixed.limit());
        }
        if (policy instanceof SlidingWindowLog log) {
            return each(log.window(), log.limit());
        }
        return policy instanceof SlidingWindowCounter counter ? each(counter.window(), counter.limit()) : 0;
    }

    private static double each(Duration period, long permits) {
        return (double) period.toNanos() / permits;
    }
}

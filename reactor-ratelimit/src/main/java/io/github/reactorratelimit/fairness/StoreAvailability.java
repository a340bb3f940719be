package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Whether the limiter's store is unavailable, so that the denial of a waiter can say so. The limiter marks its answers, but while its store
 * is unavailable it may give none to requests without a maximum wait. So if it is silent, it is peeked at now and then. A late answer to
 * such a peek is wrong until the next one.
 */
final class StoreAvailability {

    static final long SILENCE_NANOS = Duration.ofMillis(200).toNanos();

    private final RateLimiter limiter;
    private final String key;
    private volatile @Nullable Degradation degradation;
    private volatile boolean peeking;

    /** The drain loop's. */
    private long silentSince;

    StoreAvailability(RateLimiter limiter, String key) {
        this.limiter = limiter;
        this.key = key;
    }

    /** How the limiter decides without its store; null if the store is available. */
    @Nullable
    Degradation degradation() {
        return degradation;
    }

    /** The limiter answered, or the first waiter joined: then there is no decision. */
    void observe(@Nullable Decision decision, long now) {
        degradation = decision == null ? null : decision.degradation().orElse(null);
        silentSince = now;
    }

    void peekIfSilent(long now) {
        if (now - silentSince >= SILENCE_NANOS && !peeking) {
            silentSince = now;
            peeking = true;
            Mono.defer(() -> limiter.peek(key))
                    .subscribe(
                            seen -> degradation = seen.degradation().orElse(null),
                            failed -> peeking = false,
                            () -> peeking = false);
        }
    }
}

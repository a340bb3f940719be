package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Whether the limiter's store is away, so that who waits in vain then is told. The limiter marks its answers, but while its store is away it may give
 * none: who waits there however long it takes is left waiting. So where it is silent it is looked at now and then; an old look that comes late is wrong
 * until the next one.
 */
final class Outlook {

    static final long SILENCE_NANOS = Duration.ofMillis(200).toNanos();

    private final RateLimiter limiter;
    private final String key;
    private volatile @Nullable Degradation degradation;
    private volatile boolean looking;

    /** Of the line's drain loop. */
    private long silentSince;

    Outlook(RateLimiter limiter, String key) {
        this.limiter = limiter;
        this.key = key;
    }

    /** How the limiter answers without its store; null if that is not away. */
    @Nullable
    Degradation degradation() {
        return degradation;
    }

    /** Somebody waits, where nobody did. */
    void begin(long now) {
        degradation = null;
        silentSince = now;
    }

    void heard(Object outcome, long now) {
        degradation = Denials.degradationIn(outcome);
        silentSince = now;
    }

    void look(long now) {
        if (now - silentSince >= SILENCE_NANOS && !looking) {
            silentSince = now;
            looking = true;
            Mono.defer(() -> limiter.peek(key))
                    .subscribe(
                            seen -> degradation = seen.degradation().orElse(null),
                            failed -> looking = false,
                            () -> looking = false);
        }
    }
}

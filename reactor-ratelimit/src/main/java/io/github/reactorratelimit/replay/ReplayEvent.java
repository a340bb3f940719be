package io.github.reactorratelimit.replay;

import io.github.reactorratelimit.Decision;
import java.time.Duration;
import java.util.Optional;

/**
 * What would have become of an arrival.
 *
 * @param arrival the request
 * @param decision the answer; what it says about the limit is as of the departure, or of the arrival if
 *     denied. It took nothing from any limiter, so it has no {@link Decision#debit()}. Without {@link
 *     Decision#retryAfter()} a denied request could never have been allowed: it asked for too much
 * @param departure when it would have been let through, since the start of the log; empty if denied
 */
public record ReplayEvent(Arrival arrival, Decision decision, Optional<Duration> departure) {

    /** Whether it would have been let through. */
    public boolean allowed() {
        return decision.allowed();
    }

    /** How long it would have waited; zero if denied. */
    public Duration delay() {
        return departure.map(time -> time.minus(arrival.at())).orElse(Duration.ZERO);
    }
}

package io.github.reactorratelimit.webflux;

import java.util.Objects;

/**
 * Which header fields tell a client about its limits. Immutable; each method returns another one.
 *
 * @param standard whether {@code RateLimit} and {@code RateLimit-Policy} are sent
 * @param legacy whether and how the {@code X-RateLimit-} fields are sent
 * @param retryAfterJitter the part of the time by which {@code Retry-After} may be later than necessary, at random, so that clients that
 *     were denied together do not come back together; between 0 and 1. In whole seconds, and at least one unless it is 0
 */
public record HeaderOptions(boolean standard, Legacy legacy, double retryAfterJitter) {

    /** The fields {@code X-RateLimit-Limit}, {@code X-RateLimit-Remaining} and {@code X-RateLimit-Reset}. */
    public enum Legacy {
        /** Not sent. */
        OFF,
        /** Sent; {@code Reset} is the number of seconds from now. */
        DELTA_SECONDS,
        /** Sent; {@code Reset} is a time, in seconds since 1970. */
        EPOCH_SECONDS
    }

    public HeaderOptions {
        Objects.requireNonNull(legacy, "legacy");
        if (!(retryAfterJitter >= 0 && retryAfterJitter <= 1)) {
            throw new IllegalArgumentException("retryAfterJitter must be between 0 and 1, was " + retryAfterJitter);
        }
    }

    /** The standard fields only, and a {@code Retry-After} that is up to a tenth, at least up to a second later than necessary. */
    public static HeaderOptions defaults() {
        return new HeaderOptions(true, Legacy.OFF, 0.1);
    }

    /** With or without {@code RateLimit} and {@code RateLimit-Policy}. */
    public HeaderOptions withStandard(boolean standard) {
        return new HeaderOptions(standard, legacy, retryAfterJitter);
    }

    /** With these {@code X-RateLimit-} fields. */
    public HeaderOptions withLegacy(Legacy legacy) {
        return new HeaderOptions(standard, legacy, retryAfterJitter);
    }

    /**
     * With this jitter.
     *
     * @throws IllegalArgumentException if it is not between 0 and 1
     */
    public HeaderOptions withRetryAfterJitter(double jitter) {
        return new HeaderOptions(standard, legacy, jitter);
    }
}

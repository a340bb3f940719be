package io.github.reactorratelimit.micrometer;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Every meter of a limiter: its name, its tags and what it tells. No tag ever holds a key, which may
 * be a secret and of which there may be millions.
 */
public enum RateLimitMeter {
    /** A counter of requests by their answer: {@link Tag#OUTCOME} is {@code allowed} or {@code denied}. */
    DECISIONS("ratelimit.decisions", "Requests that were answered, at once or after a wait", Tag.OUTCOME),

    /** A counter of permits. */
    PERMITS_TAKEN("ratelimit.permits.taken", "Permits that allowed requests took"),

    /** A counter of permits. */
    PERMITS_REFUNDED("ratelimit.permits.refunded", "Permits that came back unused, or when a lease was released"),

    /** A counter of reservations: {@link Tag#OUTCOME} is {@code reserved} or {@code settled}; the difference is open. */
    RESERVATIONS("ratelimit.reservations", "Reservations that were made, and those that were settled", Tag.OUTCOME),

    /** A counter of permits. */
    PERMITS_SETTLED("ratelimit.permits.settled", "Permits that reservations really spent"),

    /** A counter of permits. */
    PERMITS_UNCHARGED(
            "ratelimit.permits.uncharged", "Permits that were spent but not charged: their key owed as much as it may"),

    /** A counter of permits. */
    PERMITS_LOST(
            "ratelimit.permits.lost",
            "Permits that could not be given back or charged because the store did not answer"),

    /**
     * A timer of waits by their end: {@link Tag#OUTCOME} is {@code granted}, {@code denied}, {@code
     * cancelled} or {@code closed}. Requests that were answered at once are not in it.
     */
    WAITS("ratelimit.waits", "How long requests stood in line", Tag.OUTCOME),

    /** A gauge of requests, of all keys together. */
    WAITERS("ratelimit.waiters", "Requests that stand in line now"),

    /** A counter of requests by what the shadow would have answered: {@link Tag#OUTCOME} is {@code allowed} or {@code denied}. */
    SHADOW_DECISIONS("ratelimit.shadow.decisions", "Requests by what the shadow would have answered", Tag.OUTCOME),

    /** A counter of times. */
    SHADOW_FAILURES("ratelimit.shadow.failures", "Times the shadow could not be asked; nobody else noticed"),

    /** A timer of requests that waited: {@link io.github.reactorratelimit.RateLimitRecorder#toldLate}. */
    LATENESS("ratelimit.lateness", "How long after its turn a request that waited was told"),

    /** A gauge of seconds; negative if the server's clock is behind, NaN while it was not read. */
    CLOCK_AHEAD("ratelimit.clock.ahead", "How far the clock of the server is ahead of this machine's"),

    /** A gauge of seconds. */
    CLOCK_ERROR("ratelimit.clock.error", "How far ratelimit.clock.ahead may be from the truth"),

    /**
     * A counter of permits that were leased and not spent: {@link Tag#OUTCOME} is {@code expired}, {@code lost} or {@code
     * unanswered}; see {@link io.github.reactorratelimit.RateLimitRecorder.Stranding}.
     */
    LEASES_STRANDED("ratelimit.leases.stranded", "Permits that were leased from the store and not spent", Tag.OUTCOME),

    /** A counter of permits of a concurrency limit: {@link io.github.reactorratelimit.RateLimitRecorder#leaseLost}. */
    LEASES_LOST("ratelimit.leases.lost", "Permits that are held here, but counted as free by the store"),

    /**
     * A counter of permits of {@linkplain io.github.reactorratelimit.RateLimiterBuilder#audit audited} keys: {@link Tag#OUTCOME} is {@code granted}
     * or {@code denied} where that was right, {@code over} for those that should not have been granted, {@code under} for those that should
     * have been.
     */
    AUDITED(
            "ratelimit.audit.permits",
            "Permits of audited keys, by whether they were rightly granted or denied",
            Tag.OUTCOME),

    /** A counter of decisions by what was done instead: {@link Tag#MODE} is {@code open}, {@code closed} or {@code local}. */
    DEGRADED("ratelimit.degraded", "Decisions made without the store because it did not answer", Tag.MODE);

    /** What tells the meters of one name apart. */
    public enum Tag {
        /** The limiter's name; on every meter. */
        LIMITER("limiter"),
        /** How a request or a wait ended. */
        OUTCOME("outcome"),
        /** What was done without the store. */
        MODE("mode");

        private final String key;

        Tag(String key) {
            this.key = key;
        }

        /** The tag's key in the registry. */
        public String key() {
            return key;
        }
    }

    private final String meterName;
    private final String description;
    private final @Nullable Tag ownTag;

    RateLimitMeter(String meterName, String description) {
        this(meterName, description, null);
    }

    RateLimitMeter(String meterName, String description, @Nullable Tag ownTag) {
        this.meterName = meterName;
        this.description = description;
        this.ownTag = ownTag;
    }

    /** The meter's name in the registry. */
    public String meterName() {
        return meterName;
    }

    /** What it tells, in a sentence. */
    public String description() {
        return description;
    }

    /** Its tags, {@link Tag#LIMITER} first. */
    public List<Tag> tags() {
        return ownTag == null ? List.of(Tag.LIMITER) : List.of(Tag.LIMITER, ownTag);
    }
}

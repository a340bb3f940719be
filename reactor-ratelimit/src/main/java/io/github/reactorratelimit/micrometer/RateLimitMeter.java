package io.github.reactorratelimit.micrometer;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Every meter of a {@link MicrometerRecorder}: its name, its tags and what it says. No tag ever holds a key, which may be a secret and of
 * which there may be millions.
 *
 * <pre>{@code
 * registry.get(RateLimitMeter.DECISIONS.meterName()).tag("limiter", "orders").tag("outcome", "denied").counter().count();
 * }</pre>
 */
public enum RateLimitMeter {
    /** A counter: {@code outcome} is {@code allowed} or {@code denied}. */
    DECISIONS("ratelimit.decisions", "Requests that were allowed or denied, immediately or after a wait", "outcome"),

    /** A counter of permits. */
    PERMITS_TAKEN("ratelimit.permits.taken", "Permits of allowed requests"),

    /** A counter of permits. */
    PERMITS_REFUNDED(
            "ratelimit.permits.refunded", "Permits that were refunded, or came back when a lease was released"),

    /** A counter: {@code outcome} is {@code reserved} or {@code settled}; the difference is open. */
    RESERVATIONS("ratelimit.reservations", "Reservations that were made, and those that were settled", "outcome"),

    /** A counter of permits. */
    PERMITS_SETTLED("ratelimit.permits.settled", "Permits that reservations really spent"),

    /** A counter of permits. */
    PERMITS_UNCHARGED(
            "ratelimit.permits.uncharged",
            "Permits spent but not charged, because their key's debt was at its maximum"),

    /** A counter of permits. */
    PERMITS_LOST(
            "ratelimit.permits.lost",
            "Permits that could not be refunded or charged, because the store did not answer"),

    /**
     * A timer of waits: {@code outcome} is {@code granted}, {@code denied}, {@code cancelled} or {@code closed}. It does not contain
     * requests that did not wait.
     */
    WAITS("ratelimit.waits", "How long requests waited in a queue", "outcome"),

    /** A gauge of the waiters of all keys. */
    WAITERS("ratelimit.waiters", "Requests that wait in a queue now"),

    /** A counter: {@code outcome} is {@code allowed} or {@code denied}. */
    SHADOW_DECISIONS("ratelimit.shadow.decisions", "Requests by what the shadow would have decided", "outcome"),

    /** A counter. */
    SHADOW_FAILURES("ratelimit.shadow.failures", "Requests, refunds, resets and pauses that the shadow missed"),

    /** A timer of grants: {@link io.github.reactorratelimit.RateLimitRecorder#deliveredLate}. */
    LATENESS("ratelimit.lateness", "How long after its due time a grant was delivered to its waiter"),

    /** A gauge of seconds; negative if the server's clock is behind, NaN until it is read. */
    CLOCK_AHEAD("ratelimit.clock.ahead", "How far the server's clock is ahead of this machine's"),

    /** A gauge of seconds. */
    CLOCK_ERROR("ratelimit.clock.error", "How far ratelimit.clock.ahead may be from the truth"),

    /** A counter of permits: {@code outcome} is {@code expired}, {@code lost} or {@code unanswered}. */
    PREPAID_STRANDED("ratelimit.prepaid.stranded", "Prepaid permits that were not spent", "outcome"),

    /** A counter of permits of a concurrency limit. */
    LEASES_LOST("ratelimit.leases.lost", "Permits in use here that the store counts as free"),

    /** A counter of calls. */
    STORE_FAILURES("ratelimit.store.failures", "Calls that the store answered with an error that is no outage"),

    /** A counter: {@code mode} is {@code open}, {@code closed} or {@code local}. */
    DEGRADED("ratelimit.degraded", "Decisions made without the store because it did not answer", "mode");

    /** The tag of every meter: the limiter's name. */
    static final String LIMITER = "limiter";

    private final String meterName;
    private final String description;
    private final @Nullable String ownTag;

    RateLimitMeter(String meterName, String description) {
        this(meterName, description, null);
    }

    RateLimitMeter(String meterName, String description, @Nullable String ownTag) {
        this.meterName = meterName;
        this.description = description;
        this.ownTag = ownTag;
    }

    /** The meter's name in the registry. */
    public String meterName() {
        return meterName;
    }

    /** What the meter says, in a sentence. */
    public String description() {
        return description;
    }

    /** The keys of its tags, {@code limiter} first. */
    public List<String> tags() {
        return ownTag == null ? List.of(LIMITER) : List.of(LIMITER, ownTag);
    }
}

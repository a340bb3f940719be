package io.github.reactorratelimit.webflux.client;

import java.time.Clock;
import java.time.Duration;
import java.util.Objects;

/**
 * What is learned from answers about the limits of a server. An immutable value: each method returns another one.
 *
 * <table>
 *   <caption>What answers say, and what comes of it</caption>
 *   <tr><th>in the answer</th><th>the key</th></tr>
 *   <tr><td>status 429 or 503 with {@code Retry-After}, in seconds or as a date</td><td>is paused until then</td></tr>
 *   <tr><td>{@code RateLimit} or {@code RateLimit-Remaining} and {@code -Reset}, of any draft: nothing is left</td><td>is paused until there
 *       is more, unless a {@code Retry-After} says when</td></tr>
 *   <tr><td>the same, or {@code RateLimit-Policy}: less is left than we would use</td><td>is slowed, so that it lasts</td></tr>
 *   <tr><td>{@code X-RateLimit-Remaining} and {@code -Reset}</td><td>likewise; read only if there are none of the others</td></tr>
 * </table>
 *
 * <p>A server can slow a key, never make it faster than its own limit. A pause is never cut short by a later answer. What is malformed,
 * negative or past is ignored. Nobody is believed further ahead than {@link #maxPause}.
 *
 * <p><strong>Slowed</strong> means: if {@code r} calls are left for {@code t} seconds, each answer pauses the key for {@code t / r}
 * seconds, if the limiter's own rate is higher than that; a policy of {@code q} calls in {@code w} seconds counts as {@code w / q}. Pauses of answers that come
 * together add up: to {@code t} at most, when there is more again, and for a policy to {@code maxPause}. So on average one filter lets no more
 * leave than the server gives, and what is left lasts until there is more, as long as
 *
 * <ul>
 *   <li>{@code t} and {@code w} are no longer than {@code maxPause}; what is longer counts as that, and so {@code r} or {@code q} calls leave in each {@code maxPause};
 *   <li>the calls that are under way at once, which are not yet known to be too many, are worth no more than that; else as many leave once in {@code t} or
 *       {@code maxPause}. Bound them by a burst, a rate or a {@code ConcurrencyLimit} of your own.
 * </ul>
 *
 * <p><strong>One filter for each limiter.</strong> Only pauses that the same filter asks for add up. Two filters, or two instances with a limiter
 * in Redis, ask for theirs at the same time, and of those the longest holds: together they may use up to as many times what the server gives as
 * there are filters, until the server says that less is left. If it only sends {@code RateLimit-Policy}, nothing says so: give the limiter the
 * server's rate then.
 */
public final class ServerLimitSpec {

    /** The longest pause, unless {@link #maxPause} says otherwise. */
    public static final Duration DEFAULT_MAX_PAUSE = Duration.ofMinutes(1);

    private static final Duration LONGEST = Duration.ofDays(366);

    static final ServerLimitSpec DEFAULTS =
            new ServerLimitSpec(true, true, true, true, DEFAULT_MAX_PAUSE, Clock.systemUTC());

    private final boolean retryAfter;
    private final boolean rateLimitFields;
    private final boolean legacyFields;
    private final boolean slowDown;
    private final Duration maxPause;
    private final Clock clock;

    private ServerLimitSpec(
            boolean retryAfter,
            boolean rateLimitFields,
            boolean legacyFields,
            boolean slowDown,
            Duration maxPause,
            Clock clock) {
        this.retryAfter = retryAfter;
        this.rateLimitFields = rateLimitFields;
        this.legacyFields = legacyFields;
        this.slowDown = slowDown;
        this.maxPause = maxPause;
        this.clock = clock;
    }

    /** Whether {@code Retry-After} of a 429 or 503 is heeded. */
    public ServerLimitSpec retryAfter(boolean heeded) {
        return new ServerLimitSpec(heeded, rateLimitFields, legacyFields, slowDown, maxPause, clock);
    }

    /** Whether {@code RateLimit}, {@code RateLimit-Policy} and the fields of older drafts are heeded. */
    public ServerLimitSpec rateLimitFields(boolean heeded) {
        return new ServerLimitSpec(retryAfter, heeded, legacyFields, slowDown, maxPause, clock);
    }

    /**
     * Whether {@code X-RateLimit-*} is heeded. A {@code Reset} of a thousand million or more is a time in seconds since 1970, of a
     * million million or more in milliseconds; less is the number of seconds until then.
     */
    public ServerLimitSpec legacyFields(boolean heeded) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, heeded, slowDown, maxPause, clock);
    }

    /** Whether a key is slowed while something is left; if not, it is only paused when nothing is. */
    public ServerLimitSpec slowDown(boolean slowed) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowed, maxPause, clock);
    }

    /**
     * The longest pause; what is said to last longer counts for as long.
     *
     * @throws IllegalArgumentException if it is not positive, or above 366 days
     */
    public ServerLimitSpec maxPause(Duration longest) {
        Objects.requireNonNull(longest, "longest");
        if (longest.isZero() || longest.isNegative() || longest.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("maxPause must be positive and at most 366 days, was " + longest);
        }
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowDown, longest, clock);
    }

    /** What time it is, for answers that name a date and do not say when they were made. */
    public ServerLimitSpec clock(Clock wall) {
        Objects.requireNonNull(wall, "wall");
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowDown, maxPause, wall);
    }

    boolean heedsRetryAfter() {
        return retryAfter;
    }

    boolean heedsRateLimitFields() {
        return rateLimitFields;
    }

    boolean heedsLegacyFields() {
        return legacyFields;
    }

    boolean slowsDown() {
        return slowDown;
    }

    Duration maxPause() {
        return maxPause;
    }

    Clock clock() {
        return clock;
    }
}

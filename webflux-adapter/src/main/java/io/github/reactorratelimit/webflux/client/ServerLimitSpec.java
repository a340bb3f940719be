package io.github.reactorratelimit.webflux.client;

import java.time.Clock;
import java.time.Duration;
import java.util.Objects;

/**
 * What a client learns from answers about the limits of a server. An immutable value: each method with an argument
 * returns another one.
 *
 * <table>
 *   <caption>Answers and their effect</caption>
 *   <tr><th>in the answer</th><th>the key</th></tr>
 *   <tr><td>status 429 or 503 with {@code Retry-After}, in seconds or as a date</td><td>is paused until then</td></tr>
 *   <tr><td>{@code RateLimit} or {@code RateLimit-Remaining} and {@code -Reset}, of any draft: nothing is left</td><td>is
 *       paused until there is more, unless a {@code Retry-After} says when</td></tr>
 *   <tr><td>the same, or {@code RateLimit-Policy}: less is left than our own limiter would use</td><td>is slowed, so
 *       that it lasts</td></tr>
 *   <tr><td>{@code X-RateLimit-Remaining} and {@code -Reset}</td><td>likewise; read only if there are none of the
 *       others</td></tr>
 * </table>
 *
 * <p>A server can slow a key, but never make it faster than our own limit. A later answer never shortens a pause. A
 * malformed, negative or past value is ignored. No pause is longer than {@link #maxPause}.
 *
 * <p><strong>Slowed</strong> means: if {@code r} calls are left for {@code t} seconds, each answer pauses the key for
 * {@code t / r} seconds, if the limiter's own rate is higher than that. A policy of {@code q} calls in {@code w} seconds
 * counts as {@code w / q}. Pauses of answers that arrive together add up: to {@code t} at most, when there is more again,
 * and for a policy to {@code maxPause}. So on average one filter sends no more than the server gives, and what is left
 * lasts until there is more, if
 *
 * <ul>
 *   <li>{@code t} and {@code w} are no longer than {@code maxPause}; a longer time counts as that, and so {@code r} or
 *       {@code q} calls leave in each {@code maxPause};
 *   <li>the pauses for all calls in flight together, which are not yet known to be too many, are no longer than that;
 *       otherwise as many leave once in {@code t} or {@code maxPause}. Bound them by a burst, a rate or a
 *       {@code ConcurrencyLimit} of your own.
 * </ul>
 *
 * <p><strong>One filter for each limiter.</strong> Only pauses of the same filter add up. Two filters, or two instances
 * with a limiter in Redis, pause at the same time, and the longest pause holds: together they may use up to as many times
 * the server's rate as there are filters, until the server says that less is left. If it sends only
 * {@code RateLimit-Policy}, it never says so: give the limiter the server's rate then.
 *
 * @param retryAfter whether {@code Retry-After} is used
 * @param rateLimitFields whether the fields of the drafts are used
 * @param legacyFields whether {@code X-RateLimit-*} is used
 * @param slowDown whether a key is slowed while something is left
 * @param maxPause the longest pause
 * @param clock the clock for answers without a {@code Date}
 */
public record ServerLimitSpec(
        boolean retryAfter,
        boolean rateLimitFields,
        boolean legacyFields,
        boolean slowDown,
        Duration maxPause,
        Clock clock) {

    /** The default of {@link #maxPause}. */
    public static final Duration DEFAULT_MAX_PAUSE = Duration.ofMinutes(1);

    private static final Duration LONGEST = Duration.ofDays(366);

    static final ServerLimitSpec DEFAULTS =
            new ServerLimitSpec(true, true, true, true, DEFAULT_MAX_PAUSE, Clock.systemUTC());

    public ServerLimitSpec {
        Objects.requireNonNull(maxPause, "maxPause");
        Objects.requireNonNull(clock, "clock");
        if (maxPause.isZero() || maxPause.isNegative() || maxPause.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("maxPause must be positive and at most 366 days, was " + maxPause);
        }
    }

    /** Whether {@code Retry-After} of a 429 or 503 is used. */
    public ServerLimitSpec retryAfter(boolean used) {
        return new ServerLimitSpec(used, rateLimitFields, legacyFields, slowDown, maxPause, clock);
    }

    /** Whether {@code RateLimit}, {@code RateLimit-Policy} and the fields of older drafts are used. */
    public ServerLimitSpec rateLimitFields(boolean used) {
        return new ServerLimitSpec(retryAfter, used, legacyFields, slowDown, maxPause, clock);
    }

    /**
     * Whether {@code X-RateLimit-*} is used. A {@code Reset} of a thousand million or more is a time in seconds since 1970, of a
     * million million or more in milliseconds; less is the number of seconds until then.
     */
    public ServerLimitSpec legacyFields(boolean used) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, used, slowDown, maxPause, clock);
    }

    /** Whether a key is slowed while something is left; if not, it is only paused when nothing is. */
    public ServerLimitSpec slowDown(boolean slowed) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowed, maxPause, clock);
    }

    /**
     * The longest pause; a longer one counts as this.
     *
     * @throws IllegalArgumentException if it is not positive, or above 366 days
     */
    public ServerLimitSpec maxPause(Duration longest) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowDown, longest, clock);
    }

    /** The clock for answers that name a date and have no {@code Date} of their own. */
    public ServerLimitSpec clock(Clock wall) {
        return new ServerLimitSpec(retryAfter, rateLimitFields, legacyFields, slowDown, maxPause, wall);
    }
}

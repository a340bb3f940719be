package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Projection;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * What the engine holds of one key. Immutable. Times are microseconds of the members' clock.
 *
 * @param steps the steps of the policy under which the state was made
 * @param state the state of the policy
 * @param pausedUntil when a pause ends; {@link #NOT_PAUSED} if there is none
 * @param now the time: the member's, or the latest that any member has brought to this key, so that it never goes back
 */
record KeyValue<S>(Algorithm<S> steps, S state, long pausedUntil, long now) {

    static final long NOT_PAUSED = Long.MIN_VALUE;

    /** A time further ahead comes from a clock that was set back. */
    private static final long MAX_SKEW_MICROS = TimeUnit.SECONDS.toMicros(10);

    /** A member whose clock is behind may still need a value that another one takes for refilled. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    static <S> KeyValue<S> fresh(Algorithm<S> steps, long now) {
        return new KeyValue<>(steps, steps.fresh(), NOT_PAUSED, now);
    }

    /** The value as a member finds it whose clock shows {@code time}. Usage from beyond the skew counts from then. */
    KeyValue<S> at(long time) {
        if (now - time <= MAX_SKEW_MICROS) {
            return new KeyValue<>(steps, state, pausedUntil, Math.max(now, time));
        }
        long pause = isPaused() ? time + (pausedUntil - now) : NOT_PAUSED;
        return new KeyValue<>(steps, steps.owing(steps.fresh(), time, steps.spent(state, now)), pause, time);
    }

    /** The value under another policy: usage so far is kept, capped at that policy's capacity. */
    <T> KeyValue<T> under(Algorithm<T> other) {
        T owing = other.owing(other.fresh(), now, steps.spent(state, now));
        return new KeyValue<>(other, owing, pausedUntil, now);
    }

    KeyValue<S> with(S next) {
        return next == state ? this : new KeyValue<>(steps, next, pausedUntil, now);
    }

    KeyValue<S> withPause(long until) {
        return new KeyValue<>(steps, state, until, now);
    }

    boolean isPaused() {
        return pausedUntil > now;
    }

    /** What lies ahead of the key: requests are placed one behind the other. */
    Projection<S> projection() {
        return Projection.of(steps, state, now);
    }

    /** Whether the engine needs not keep it. */
    boolean isForgettable() {
        return !isPaused() && steps.resetTicks(state, now) == 0;
    }

    /** How long the engine must keep it. */
    Duration timeToLive(long time) {
        long micros = Math.max(steps.resetTicks(state, now), isPaused() ? pausedUntil - now : 0) + (now - time);
        return MARGIN.plusMillis(TimeUnit.MICROSECONDS.toMillis(micros) + 1);
    }
}

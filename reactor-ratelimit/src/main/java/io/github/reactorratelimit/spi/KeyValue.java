package io.github.reactorratelimit.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * What the engine holds of one key. Immutable. Times are microseconds of the members' clock.
 *
 * <p>Its bytes are a format version, the time, the end of the pause, the policy as text behind its length, and the state as longs. Big
 * endian.
 *
 * @param steps the steps of the policy under which the state was made
 * @param state the state of the policy
 * @param pausedUntil when a pause ends; {@link #NOT_PAUSED} if there is none
 * @param now the time: the member's, or the latest that any member has brought to this key, so that it never goes back
 */
record KeyValue<S>(Algorithm<S> steps, S state, long pausedUntil, long now) {

    static final long NOT_PAUSED = Long.MIN_VALUE;

    private static final byte VERSION = 1;

    /** A time further ahead comes from a clock that was set back. */
    private static final long MAX_SKEW_MICROS = TimeUnit.SECONDS.toMicros(10);

    /** A member whose clock is behind may still need a value that another one takes for refilled. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    static <S> KeyValue<S> fresh(Algorithm<S> steps, long now) {
        return new KeyValue<>(steps, steps.fresh(), NOT_PAUSED, now);
    }

    byte[] encode() {
        byte[] policy = PolicyText.format(steps.policy()).getBytes(UTF_8);
        long[] longs = steps.toLongs(state);
        ByteBuffer bytes = ByteBuffer.allocate(
                Byte.BYTES + 2 * Long.BYTES + Short.BYTES + policy.length + longs.length * Long.BYTES);
        bytes.put(VERSION).putLong(now).putLong(pausedUntil);
        bytes.putShort((short) policy.length).put(policy).asLongBuffer().put(longs);
        return bytes.array();
    }

    /** @throws StoreUnavailableException if it is not what {@link #encode} makes, or what another version of it makes */
    static KeyValue<?> decode(byte[] stored, Function<RateLimitPolicy, Algorithm<?>> algorithms) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap(stored);
            byte version = bytes.get();
            if (version != VERSION) {
                throw new StoreUnavailableException(
                        "a key's value has format version " + version + ", this library reads " + VERSION, null);
            }
            long now = bytes.getLong();
            long pausedUntil = bytes.getLong();
            byte[] policy = new byte[bytes.getShort()];
            bytes.get(policy);
            long[] state = new long[bytes.remaining() / Long.BYTES];
            bytes.asLongBuffer().get(state);
            return of(algorithms.apply(PolicyText.parse(new String(policy, UTF_8))), state, pausedUntil, now);
        } catch (StoreUnavailableException known) {
            throw known;
        } catch (RuntimeException corrupt) {
            throw new StoreUnavailableException("a key's value cannot be read", corrupt);
        }
    }

    private static <S> KeyValue<S> of(Algorithm<S> steps, long[] state, long pausedUntil, long now) {
        return new KeyValue<>(steps, steps.ofLongs(state), pausedUntil, now);
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
    KeyValue<?> under(Algorithm<?> other) {
        return steps.policy().equals(other.policy()) ? this : carried(other);
    }

    private <T> KeyValue<T> carried(Algorithm<T> other) {
        T owing = other.owing(other.fresh(), now, steps.spent(state, now));
        return new KeyValue<>(other, owing, pausedUntil, now);
    }

    KeyValue<S> with(S next) {
        return next == state ? this : new KeyValue<>(steps, next, pausedUntil, now);
    }

    KeyValue<S> debit(long permits) {
        return with(steps.debit(state, now, permits));
    }

    KeyValue<S> refund(long debitedAt, long permits) {
        return with(steps.refund(state, now, debitedAt, permits));
    }

    KeyValue<S> charge(long permits, long maxDebt) {
        return with(steps.charge(state, now, permits, maxDebt));
    }

    long chargeable(long maxDebt) {
        return steps.chargeable(state, now, maxDebt);
    }

    Reading read(long permits) {
        return steps.read(state, now, permits);
    }

    Projection<S> projection() {
        return new Projection<>(steps, state, now);
    }

    KeyValue<S> withPause(long until) {
        return new KeyValue<>(steps, state, until, now);
    }

    boolean isPaused() {
        return pausedUntil > now;
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

package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;
import org.jspecify.annotations.Nullable;

/**
 * Computes when queued requests will be granted. Starts from a state and places one request after the other,
 * each as early as the ones before it allow.
 *
 * @param <S> the state of the key
 * @param algorithm the steps of its policy
 * @param state the state after the last request
 * @param at when the last request is granted, {@link Algorithm#UNKNOWN} if that is not known; before the
 *     first one, the time of the state
 */
public record Projection<S>(Algorithm<S> algorithm, S state, long at) {

    private static final long ANY_DEBT = Long.MAX_VALUE / 4;

    /**
     * Places a request behind the others. All requests behind one with an unknown time are unknown too.
     *
     * @param notBefore the earliest time it may be granted: its arrival, the end of a pause
     */
    public Projection<S> place(long notBefore, long permits) {
        long granted = preview(notBefore, permits);
        S next = granted == Algorithm.UNKNOWN ? state : algorithm.debit(state, granted, permits);
        return new Projection<>(algorithm, next, granted);
    }

    /**
     * Places several requests behind the others in one step; null if that is not possible.
     *
     * @param notBefore none of them must wait for a later time than this
     * @param permits the permits of all of them
     * @param most no request, nor any placed before, needs more than this
     */
    public @Nullable Projection<S> placeAll(long notBefore, long permits, long most) {
        if (permits == 0 || at == Algorithm.UNKNOWN) {
            return this;
        }
        boolean isPossible = algorithm.isAdditive(most)
                && algorithm.resetTicks(state, Math.max(at, notBefore)) > 0
                && algorithm.chargeable(state, at, ANY_DEBT) >= permits;
        return isPossible ? new Projection<>(algorithm, algorithm.charge(state, at, permits, ANY_DEBT), at) : null;
    }

    /** When a request would be granted behind the others. */
    public long preview(long notBefore, long permits) {
        if (at == Algorithm.UNKNOWN) {
            return at;
        }
        long from = Math.max(at, notBefore);
        long wait = algorithm.waitTicks(state, from, permits);
        return Saturated.plus(from, wait);
    }
}

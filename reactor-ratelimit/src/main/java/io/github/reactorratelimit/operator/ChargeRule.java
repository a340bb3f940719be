package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * How a subscription with reserved permits is charged: by its elements while it runs, also if it fails or is
 * cancelled, or by its outcome when it has ended.
 *
 * @param ofElement what an element costs; null if elements cost nothing
 * @param ofOutcome what the outcome costs; null if it costs nothing
 * @param cancelIsFree whether a cancelled call costs nothing
 */
record ChargeRule<T>(
        @Nullable ToLongFunction<? super T> ofElement,
        @Nullable ToLongFunction<? super Outcome<T>> ofOutcome,
        boolean cancelIsFree) {

    /** Whether the cost is known before: that of the spec. */
    boolean isKnownBefore() {
        return ofElement == null && ofOutcome == null;
    }

    /** What an element adds to the count: at least 0. */
    long costOf(T element) {
        return ofElement == null ? 0 : notNegative("cost", ofElement.applyAsLong(element));
    }

    /** By what the reservation is settled: at least 0. */
    long actual(long counted, Outcome<T> outcome) {
        if (ofElement != null) {
            return counted;
        }
        boolean free = cancelIsFree && outcome.kind() == Outcome.Kind.CANCELLED;
        return free
                ? 0
                : notNegative("charge", Objects.requireNonNull(ofOutcome).applyAsLong(outcome));
    }

    private static long notNegative(String what, long permits) {
        if (permits < 0) {
            throw new IllegalArgumentException(what + " must not be negative, was " + permits);
        }
        return permits;
    }
}

package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Whether and how the outcome decides what a call costs.
 *
 * @param charge null if it does not
 */
record OutcomeRule<T>(@Nullable ToLongFunction<? super Outcome<T>> charge, boolean cancelIsFree) {

    static <T> OutcomeRule<T> none() {
        return new OutcomeRule<>(null, false);
    }

    OutcomeRule<T> charge(ToLongFunction<? super Outcome<T>> permits) {
        return new OutcomeRule<>(Objects.requireNonNull(permits, "permits"), cancelIsFree);
    }

    OutcomeRule<T> withCancelFree() {
        return new OutcomeRule<>(charge, true);
    }

    /** Null if calls cost what they cost, however they end. */
    @Nullable
    Account<T> account() {
        return charge == null ? null : new Account.ByOutcome<>(charge, cancelIsFree);
    }
}

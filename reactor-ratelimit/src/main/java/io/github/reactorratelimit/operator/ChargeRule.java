package io.github.reactorratelimit.operator;

import java.util.Objects;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** What is counted while a subscription with reserved permits runs, and what it is charged in the end. */
interface ChargeRule<T> {

    /** What an element adds to the count: at least 0. */
    long costOf(T element);

    /** By what the reservation is settled: at least 0. */
    long actual(long counted, Outcome<T> outcome);

    /** What may be counted and not yet charged while the subscription runs. */
    long step(long reserved);

    static long notNegative(String what, long permits) {
        if (permits < 0) {
            throw new IllegalArgumentException(what + " must not be negative, was " + permits);
        }
        return permits;
    }

    /**
     * Every element is charged by its cost, also if the stream fails or is cancelled.
     *
     * @param fixedStep 0 for a quarter of what was reserved
     */
    record OfStream<T>(ToLongFunction<? super T> cost, long fixedStep) implements ChargeRule<T> {

        @Override
        public long costOf(T element) {
            return notNegative("cost", cost.applyAsLong(element));
        }

        @Override
        public long actual(long counted, Outcome<T> outcome) {
            return counted;
        }

        @Override
        public long step(long reserved) {
            return fixedStep > 0 ? fixedStep : Math.max(1, reserved / 4);
        }
    }

    /**
     * The subscription is charged by how it ends.
     *
     * @param charge null if it is not: then its cost is known before
     */
    record ByOutcome<T>(@Nullable ToLongFunction<? super Outcome<T>> charge, boolean cancelIsFree)
            implements ChargeRule<T> {

        @Override
        public long costOf(T element) {
            return 0;
        }

        @Override
        public long actual(long counted, Outcome<T> outcome) {
            boolean free = cancelIsFree && outcome.kind() == Outcome.Kind.CANCELLED;
            return free
                    ? 0
                    : notNegative("charge", Objects.requireNonNull(charge).applyAsLong(outcome));
        }

        @Override
        public long step(long reserved) {
            return Long.MAX_VALUE;
        }
    }
}

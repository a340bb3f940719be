package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;

/** Permits that a subscription got from its limiter, and what becomes of them when it ends. */
interface GatePermits<T> {

    /** The decision if it was a denial: then there are no permits. */
    default @Nullable Decision denial() {
        return null;
    }

    /**
     * Counts an element before it is passed on; false if the subscription has ended, and the element is not
     * passed on.
     */
    default boolean count(T element) {
        return true;
    }

    /** Whether the value of a Mono ends it, before the Mono completes. */
    default boolean endsWithValue() {
        return false;
    }

    /**
     * The subscription ended: gives back what is not spent; of several calls the first counts.
     *
     * @return what a function of the user threw, null if none did
     */
    default @Nullable Throwable end(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
        return null;
    }

    /** Gives everything back: the source was never subscribed. */
    void refund();

    /** Permits that are spent when the source is subscribed, or a denial. */
    record Spent<T>(SubscriptionTerms<T> terms, Decision decision) implements GatePermits<T> {

        @Override
        public @Nullable Decision denial() {
            return decision.allowed() ? null : decision;
        }

        @Override
        public void refund() {
            terms.refund(decision);
        }
    }

    /** Permits of a concurrency limit: released when the subscription ends. */
    interface Leased<T> extends GatePermits<T> {

        @Override
        default @Nullable Throwable end(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
            refund();
            return null;
        }
    }
}

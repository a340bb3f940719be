package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Lease;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Permits that a {@link Gate} holds until its subscription ends. */
interface Grant<T> {

    /** Counts an element before it is passed on; false if the subscription has ended, and the element is not passed on. */
    default boolean count(T element) {
        return true;
    }

    /** Whether the value of a Mono ends it, before the Mono completes. */
    default boolean endsWithValue() {
        return false;
    }

    /**
     * Gives back what is not spent; of several calls the first counts.
     *
     * @return what a function of the user threw, null if none did
     */
    default @Nullable Throwable end(Outcome.Kind kind, @Nullable T value, @Nullable Throwable error) {
        refund();
        return null;
    }

    /** Gives everything back: the source was never subscribed. */
    void refund();

    /** Permits of a concurrency limit in memory. */
    record Immediate<T>(Asking<T> asking, Decision decision) implements Grant<T> {

        @Override
        public void refund() {
            asking.releaseNow(decision);
        }
    }

    /** Permits of a concurrency limit. */
    final class Leased<T> implements Grant<T> {

        private final Lease lease;
        private final AtomicBoolean released = new AtomicBoolean();

        Leased(Lease lease) {
            this.lease = lease;
        }

        @Override
        public void refund() {
            if (released.compareAndSet(false, true)) {
                lease.release().subscribe();
            }
        }
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.queue.QueuedKey;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A key whose permits can be debited for a time ahead. */
interface ReservingKey extends QueuedKey {

    /**
     * A time at which permits may be used, reserved for this process. It is not bound to a waiter: which
     * waiter uses it is decided when its time has come.
     */
    interface Slot {

        /** Permits that were reserved. */
        long permits();

        /** When they may be used, on the clock of the key; a pause may move it. */
        long at();

        /** Tells slots of one key apart, in the order of their times. */
        long order();

        /**
         * Until when it is known to hold, on the clock of the key. If its own time lies behind that, it is
         * not used before the key was {@linkplain ReservingKey#refresh read again}.
         */
        default long confirmedUntil() {
            return Long.MAX_VALUE;
        }

        /** Whether it holds no longer: the key was reset, has another policy, or its state was lost. */
        boolean isVoid();

        /**
         * The decision for the waiter that uses it; null if its time has not come, or it holds no longer. One
         * look tells that and when it was debited: a pause that is heard of at this moment moves both or
         * neither.
         */
        @Nullable
        Decision use(long now);

        /** Gives it back; without effect if its time has passed. */
        void free();
    }

    /**
     * Reserves permits for the next time that is free, at most {@code maxWaitNanos} ahead. Brings a {@link
     * Slot}, or a {@link Decision} if there is none: a denial, or a grant by the fallback of a store that does
     * not answer; or a {@link Mono} of a decision if the policy in effect has no slots: there the waiter has to
     * wait. One answer or one error, on any thread.
     */
    Mono<?> reserve(long permits, long maxWaitNanos);

    /** Reads whether the slots still hold and where they lie; completes when they tell it. */
    Mono<Void> refresh();
}

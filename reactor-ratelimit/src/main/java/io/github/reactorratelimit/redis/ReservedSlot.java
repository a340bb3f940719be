package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;

/**
 * A time at which permits may be used, reserved in a state elsewhere for this process. It is not bound to
 * a waiter: which waiter uses it is decided when its time has come.
 */
interface ReservedSlot {

    /** Permits that were reserved. */
    long permits();

    /** When they may be used, on the clock of the key; a pause may move it. */
    long at();

    /** Tells slots of one key apart, in the order of their times. */
    long order();

    /**
     * For times until which it is known to hold, on the clock of the key. If its own time lies behind that, it is not used
     * before the key has {@linkplain ReservingKey#recheck looked again}.
     */
    default long confirmedUntil() {
        return Long.MAX_VALUE;
    }

    /** Whether it holds no longer: the key was reset, has another policy, or its state was lost. */
    boolean isVoid();

    /**
     * The decision for the waiter that uses it; null if its time has not come, or it holds no longer. One look tells whether that is so and when it was
     * debited: a pause that is heard of at this moment moves both or neither.
     */
    @Nullable
    Decision use(long now);

    /** Gives it back; without effect if its time has passed. */
    void free();
}

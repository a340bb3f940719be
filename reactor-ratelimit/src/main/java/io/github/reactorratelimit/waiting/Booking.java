package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;

/**
 * A time at which permits may be used, reserved in a state elsewhere for this process. It is not bound to
 * a waiter: who uses it is decided when its time has come.
 */
public interface Booking {

    /** Permits that were reserved. */
    long permits();

    /** When they may be used, on the clock of the desk; a pause may move it. */
    long at();

    /** Tells bookings of one key apart, in the order of their times. */
    long order();

    /** Whether it holds no longer: the key was reset, or has another policy. */
    boolean isVoid();

    /**
     * The decision for whoever uses it; null if its time has not come, or it holds no longer. One look tells whether that is so and when it was
     * debited: a pause that is heard of at this moment moves both or neither.
     */
    @Nullable
    Decision use(long now);

    /** Gives it back; without effect if its time has passed. */
    void free();
}

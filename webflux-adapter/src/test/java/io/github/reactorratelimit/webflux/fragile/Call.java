package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.Decision;

/** A call of a client, and what became of it. */
final class Call {

    private final String name;
    private final long beganNanos = System.nanoTime();
    private volatile long slotMicros;
    private volatile long grantedNanos;

    Call(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    /** The slot is the time of the decision by the clock of Redis; that of the grant here is when the call was told of it. */
    void granted(Decision decision) {
        decision.debit().ifPresent(debit -> slotMicros = debit.atTick());
        grantedNanos = System.nanoTime();
    }

    /** A line that {@link Run} reads. */
    String ended(int status) {
        return "call " + name + " " + slotMicros + " " + beganNanos + " " + grantedNanos + " " + System.nanoTime() + " "
                + status;
    }
}

package io.github.reactorratelimit.waiting;

import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Something with a mailbox and one owner at a time, without a lock: whoever leaves something in the
 * mailbox and finds the worker idle becomes its owner and works until nothing is left. What the
 * owner touches in {@link #work} needs no other protection.
 */
abstract class SerialWorker {

    /** As {@link #missed}: out of use. Far enough below 0 that no poke lifts it out. */
    private static final int RETIRED = Integer.MIN_VALUE;

    private final AtomicInteger missed = new AtomicInteger();

    /** Looks at everything in the mailbox; never throws. */
    abstract void work();

    /** Whether the worker may go out of use, as far as its owner can see. */
    boolean isDone() {
        return false;
    }

    /** The worker went out of use: nothing will be worked off any more. */
    void retired() {}

    /** Works off the mailbox unless somebody does already; false if the worker went out of use. */
    final boolean poke() {
        int before = missed.getAndIncrement();
        if (before == 0) {
            workOff();
        }
        return before >= 0;
    }

    private void workOff() {
        int seen = 1;
        do {
            try {
                work();
            } catch (RuntimeException broken) {
                // The worker must stay usable for those who come later.
                Operators.onErrorDropped(broken, Context.empty());
            }
            if (isDone() && missed.compareAndSet(seen, RETIRED)) {
                retired();
                return;
            }
            seen = missed.addAndGet(-seen);
        } while (seen != 0);
    }
}

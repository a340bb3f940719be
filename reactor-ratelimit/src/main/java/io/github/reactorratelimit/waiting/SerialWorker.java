package io.github.reactorratelimit.waiting;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Something with a mailbox and one owner at a time, without a lock: whoever leaves something in the
 * mailbox and finds the worker idle becomes its owner and works until nothing is left. What the
 * owner touches in {@link #work} needs no other protection.
 */
public abstract class SerialWorker {

    /** As {@link #missed}: out of use. Far enough below 0 that no poke lifts it out. */
    private static final int RETIRED = Integer.MIN_VALUE;

    private final AtomicInteger missed = new AtomicInteger();

    /** Looks at everything in the mailbox. What it throws is dropped, and what comes later is worked off all the same. */
    protected abstract void work();

    /** Whether the worker may go out of use, as far as its owner can see. */
    protected boolean isDone() {
        return false;
    }

    /** The worker went out of use: nothing will be worked off any more. */
    protected void retired() {}

    /** Whether all that was left before is worked off, as far as the caller can have seen it. */
    protected final boolean isIdle() {
        return missed.get() == 0;
    }

    /** Works off the mailbox unless somebody does already; false if the worker went out of use. */
    public final boolean poke() {
        int before = missed.getAndIncrement();
        if (before == 0) {
            workOff();
        }
        return before >= 0;
    }

    private void workOff() {
        Throwable broken = null;
        int seen = 1;
        do {
            broken = workAfter(broken);
            if (isDone() && missed.compareAndSet(seen, RETIRED)) {
                retired();
                break;
            }
            seen = missed.addAndGet(-seen);
        } while (seen != 0);
        if (broken != null) {
            // Not before: a hook may throw, and with a count that stays nobody would work off anything any more.
            Operators.onErrorDropped(broken, Context.empty());
        }
    }

    /** What was thrown so far. */
    private @Nullable Throwable workAfter(@Nullable Throwable before) {
        try {
            work();
            return before;
        } catch (Throwable broken) {
            return before == null ? broken : Exceptions.addSuppressed(before, broken);
        }
    }
}

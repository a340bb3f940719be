package io.github.reactorratelimit.queue;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.Logger;
import reactor.util.Loggers;
import reactor.util.context.Context;

/**
 * A mailbox and a loop that handles it, on one thread at a time and without a lock: a thread that leaves something in the
 * mailbox and finds the loop idle runs it until nothing is left. What {@link #drain} touches needs no other protection.
 */
public abstract class DrainLoop {

    private static final Logger LOG = Loggers.getLogger(DrainLoop.class);

    /** As {@link #missed}: out of use. Far enough below 0 that no signal lifts it out. */
    private static final int RETIRED = Integer.MIN_VALUE;

    private final AtomicInteger missed = new AtomicInteger();

    /**
     * Looks at everything in the mailbox. What it throws is dropped, an Error is also logged, and what comes later is
     * worked off all the same.
     */
    protected abstract void drain();

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

    /** Works off the mailbox unless another thread does already; false if the worker went out of use. */
    public final boolean signal() {
        int before = missed.getAndIncrement();
        if (before == 0) {
            drainAll();
        }
        return before >= 0;
    }

    private void drainAll() {
        Throwable broken = null;
        int seen = 1;
        do {
            broken = drainAfter(broken);
            if (isDone() && missed.compareAndSet(seen, RETIRED)) {
                retired();
                break;
            }
            seen = missed.addAndGet(-seen);
        } while (seen != 0);
        // Not before: a hook may throw, and with a count that stays no thread would drain it any more.
        if (broken != null) {
            if (broken instanceof Error) {
                LOG.error("A limiter met an Error and goes on", broken);
            }
            Operators.onErrorDropped(broken, Context.empty());
        }
    }

    /** What was thrown so far. */
    private @Nullable Throwable drainAfter(@Nullable Throwable before) {
        try {
            drain();
            return before;
        } catch (Throwable broken) {
            return before == null ? broken : Exceptions.addSuppressed(before, broken);
        }
    }
}

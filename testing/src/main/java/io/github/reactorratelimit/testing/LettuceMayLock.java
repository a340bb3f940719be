package io.github.reactorratelimit.testing;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.blockhound.integration.BlockHoundIntegration;

/**
 * Lets Lettuce take its own locks, for which two threads may have to wait for each other. An error thrown there leaves it
 * in pieces: it counts its writers wrongly and spins for ever, or a connection to Sentinel never learns of the master.
 * Waiting for anything else, an answer for instance, stays forbidden to it.
 *
 * <p>Other code must not wait for a lock. It gets no error there either: the lock would keep a waiter that is gone, and the waiters
 * behind it, in this test or a later one, would never wake up. So the test in which it happened fails when it ends.
 */
public final class LettuceMayLock implements BlockHoundIntegration {

    /** Their locks are held for a moment only. */
    private static final Set<String> QUEUES =
            Set.of(LinkedBlockingQueue.class.getName(), ArrayBlockingQueue.class.getName());

    private enum Waits {
        FOR_NO_LOCK,
        FOR_A_LOCK_OF_LETTUCE,
        FOR_ANOTHER_LOCK
    }

    @Override
    public void applyTo(BlockHound.Builder builder) {
        builder.blockingMethodCallback(method -> {
            Waits what = StackWalker.getInstance().walk(LettuceMayLock::look);
            if (what == Waits.FOR_ANOTHER_LOCK) {
                Drops.blocked(new BlockingOperationError(method));
            } else if (what == Waits.FOR_NO_LOCK) {
                throw new BlockingOperationError(method);
            }
        });
    }

    private static Waits look(Stream<StackFrame> stack) {
        Iterator<StackFrame> frames = stack.iterator();
        while (frames.hasNext()) {
            StackFrame frame = frames.next();
            if (frame.getClassName().equals(ReentrantLock.class.getName())
                    && frame.getMethodName().equals("lock")) {
                return isLettuceOrItsQueue(frames) ? Waits.FOR_A_LOCK_OF_LETTUCE : Waits.FOR_ANOTHER_LOCK;
            }
        }
        return Waits.FOR_NO_LOCK;
    }

    /** Whether the caller of {@link ReentrantLock#lock()} is Lettuce, or one of its queues, or a queue of one of its executors. */
    private static boolean isLettuceOrItsQueue(Iterator<StackFrame> callers) {
        boolean inQueue = false;
        while (callers.hasNext()) {
            String caller = callers.next().getClassName();
            if (!QUEUES.contains(caller)) {
                return caller.startsWith("io.lettuce.") || (inQueue && caller.startsWith("io.netty.util.concurrent."));
            }
            inQueue = true;
        }
        return false;
    }
}

package io.github.reactorratelimit.testing;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
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
 */
public final class LettuceMayLock implements BlockHoundIntegration {

    @Override
    public void applyTo(BlockHound.Builder builder) {
        builder.blockingMethodCallback(method -> {
            if (!StackWalker.getInstance().walk(LettuceMayLock::isLockOfLettuce)) {
                throw new BlockingOperationError(method);
            }
        });
    }

    /** Whether the caller of {@link ReentrantLock#lock()} is Lettuce, or the queue of one of its executors. */
    private static boolean isLockOfLettuce(Stream<StackFrame> stack) {
        Iterator<StackFrame> frames = stack.iterator();
        while (frames.hasNext()) {
            StackFrame frame = frames.next();
            if (frame.getClassName().equals(ReentrantLock.class.getName())
                    && frame.getMethodName().equals("lock")) {
                return isLettuceOrItsQueue(frames);
            }
        }
        return false;
    }

    /** The queue of one of its executors has a lock of its own, which is held for a moment only. */
    private static boolean isLettuceOrItsQueue(Iterator<StackFrame> callers) {
        boolean inQueue = false;
        while (callers.hasNext()) {
            String caller = callers.next().getClassName();
            if (!caller.equals(LinkedBlockingQueue.class.getName())) {
                return caller.startsWith("io.lettuce.") || (inQueue && caller.startsWith("io.netty.util.concurrent."));
            }
            inQueue = true;
        }
        return false;
    }
}

package io.github.reactorratelimit.testing;

import java.lang.StackWalker.StackFrame;
import java.util.Iterator;
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

    /** Whether the caller of {@link ReentrantLock#lock()} is Lettuce. */
    private static boolean isLockOfLettuce(Stream<StackFrame> stack) {
        Iterator<StackFrame> frames = stack.iterator();
        while (frames.hasNext()) {
            StackFrame frame = frames.next();
            if (frame.getClassName().equals(ReentrantLock.class.getName())
                    && frame.getMethodName().equals("lock")) {
                return frames.hasNext() && frames.next().getClassName().startsWith("io.lettuce.");
            }
        }
        return false;
    }
}

package io.github.reactorratelimit.redis;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Calls that the server refused because it did not know the script: sent again, in order, before anything new. */
final class TakeResends {

    /** Refused. */
    private final Queue<TakeCall> refused = new ConcurrentLinkedQueue<>();

    /** The worker's: those that were sent again. */
    private final Deque<TakeCall> sent = new ArrayDeque<>();

    void add(TakeCall call) {
        refused.offer(call);
    }

    /** Whether some are not sent again. */
    boolean areWaiting() {
        return !refused.isEmpty();
    }

    /** For the worker: sends those that wait; false if what is new has to wait for them. */
    boolean sendAll() {
        // First: who sees that one is over finds all that the server refused before, and new ones go behind them.
        if (!sent.isEmpty()) {
            sent.removeIf(TakeCall::isOver);
        }
        for (TakeCall call = refused.poll(); call != null; call = refused.poll()) {
            sent.add(call);
            if (!call.sendText()) {
                sent.remove(call);
            }
        }
        return sent.isEmpty();
    }
}

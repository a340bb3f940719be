package io.github.reactorratelimit.hotkeys;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A {@link Summary} with one owner at a time and without a lock: a thread that finds it owned counts
 * elsewhere. A thread that needs the summary submits a request, which the owner runs before it releases the
 * stripe. The thread either becomes the owner, or changes the state before the release: releasing is a CAS
 * from {@link #OWNED}, so no request is missed.
 */
final class Stripe {

    private static final int FREE = 0;

    private static final int OWNED = 1;

    /** Owned, with requests to run. */
    private static final int REQUESTED = 2;

    private final Summary summary;
    private final AtomicInteger state = new AtomicInteger(FREE);
    private final Queue<Consumer<Summary>> requests = new ConcurrentLinkedQueue<>();

    Stripe(int cells) {
        this.summary = new Summary(cells);
    }

    /** False if another thread owns it. */
    boolean tryAdd(long hash, long weight) {
        if (!state.compareAndSet(FREE, OWNED)) {
            return false;
        }
        summary.add(hash, weight);
        release();
        return true;
    }

    /** Runs the request on the owner, this thread or another; it must be short and must not throw. */
    void submit(Consumer<Summary> request) {
        requests.add(request);
        for (; ; ) {
            if (state.compareAndSet(FREE, OWNED)) {
                runRequests();
                release();
                return;
            }
            if (state.get() == REQUESTED || state.compareAndSet(OWNED, REQUESTED)) {
                return;
            }
        }
    }

    private void release() {
        while (!state.compareAndSet(OWNED, FREE)) {
            // Before the requests run: a request that comes later sets REQUESTED again.
            state.set(OWNED);
            runRequests();
        }
    }

    private void runRequests() {
        for (Consumer<Summary> request = requests.poll(); request != null; request = requests.poll()) {
            request.accept(summary);
        }
    }
}

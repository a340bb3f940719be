package io.github.reactorratelimit.hotkeys;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A {@link Summary} with one owner at a time and without a lock: who finds it owned goes elsewhere. Only those who want to
 * see it leave a request, and the owner serves it before it lets go. Whoever leaves a request either becomes the owner, or
 * changes the state before the owner lets go: letting go is a CAS from {@link #OWNED}, so no request is overlooked.
 */
final class Stripe {

    /** Nobody's. */
    private static final int FREE = 0;

    /** Somebody is at it. */
    private static final int OWNED = 1;

    /** Somebody is at it, and requests have come since. */
    private static final int ASKED = 2;

    private final Summary summary;
    private final AtomicInteger state = new AtomicInteger(FREE);
    private final Queue<Consumer<Summary>> requests = new ConcurrentLinkedQueue<>();

    Stripe(int places) {
        this.summary = new Summary(places);
    }

    /** False if somebody is at it. */
    boolean tryAdd(long hash, long weight) {
        if (!state.compareAndSet(FREE, OWNED)) {
            return false;
        }
        summary.add(hash, weight);
        letGo();
        return true;
    }

    /** Has the owner run the request, this thread or another; it must be short and must not throw. */
    void ask(Consumer<Summary> request) {
        requests.add(request);
        for (; ; ) {
            if (state.compareAndSet(FREE, OWNED)) {
                serve();
                letGo();
                return;
            }
            if (state.get() == ASKED || state.compareAndSet(OWNED, ASKED)) {
                return;
            }
        }
    }

    private void letGo() {
        while (!state.compareAndSet(OWNED, FREE)) {
            // Before the requests are looked at: who finds ASKED after this has its request seen.
            state.set(OWNED);
            serve();
        }
    }

    private void serve() {
        for (Consumer<Summary> request = requests.poll(); request != null; request = requests.poll()) {
            request.accept(summary);
        }
    }
}

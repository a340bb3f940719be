package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.function.Supplier;
import reactor.core.CoreSubscriber;

/** A waiter for a key of a remote store: it always joins the queue. */
public final class RemoteWaiter<Q extends KeyQueue<Waiter<Decision>, ?>> extends Waiter<Decision> {

    private final KeyQueues<Waiter<Decision>, Q> queues;
    private final String key;
    private final RemoteKey state;
    private final Supplier<Q> maker;

    /** @param maker makes the queue of the key if there is none */
    public RemoteWaiter(
            KeyQueues<Waiter<Decision>, Q> queues,
            CoreSubscriber<? super Decision> actual,
            String key,
            RemoteKey state,
            long permits,
            long maxWaitNanos,
            Supplier<Q> maker) {
        super(queues.runtime(), actual, permits, maxWaitNanos);
        this.queues = queues;
        this.key = key;
        this.state = state;
        this.maker = maker;
    }

    @Override
    protected void join() {
        if (queues.isClosed()) {
            claim(queues.runtime().closedException());
        } else {
            arriveAt(state.now());
            queues.join(key, this, maker);
        }
    }

    @Override
    protected void leave() {
        queues.leave(key, this);
    }

    @Override
    protected void delivering(Decision delivered) {
        RateLimitRecorder recorder = queues.settings().recorder();
        if (dueAt != NOT_DUE && delivered.allowed() && recorder != RateLimitRecorder.NOOP) {
            recorder.deliveredLate(Math.max(0, state.now() - dueAt));
        }
    }

    @Override
    protected void refund(Decision undelivered) {
        undelivered.debit().filter(Debit::claim).ifPresent(state::refund);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import reactor.core.publisher.BaseSubscriber;

/**
 * A waiter of one queue that waits in another. It ends once: with the answer of the other queue, or because the
 * waiter leaves. What an answer that comes later grants is given back.
 */
final class WaitElsewhere extends BaseSubscriber<Object> {

    private final AtomicBoolean isOver = new AtomicBoolean();
    private final Consumer<Object> answered;
    private final Consumer<Decision> unused;

    /** @param answered takes the answer or the error, on any thread */
    WaitElsewhere(Consumer<Object> answered, Consumer<Decision> unused) {
        this.answered = answered;
        this.unused = unused;
    }

    /** False if the answer is on its way. */
    boolean leave() {
        boolean leaves = isOver.compareAndSet(false, true);
        if (leaves) {
            cancel();
        }
        return leaves;
    }

    @Override
    protected void hookOnNext(Object answer) {
        end(answer);
    }

    @Override
    protected void hookOnError(Throwable error) {
        end(error);
    }

    private void end(Object answer) {
        if (isOver.compareAndSet(false, true)) {
            answered.accept(answer);
        } else if (answer instanceof Decision decision) {
            unused.accept(decision);
        }
    }
}

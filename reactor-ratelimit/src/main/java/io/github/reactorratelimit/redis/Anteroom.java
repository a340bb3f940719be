package io.github.reactorratelimit.redis;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Where calls stand until the door opens: let through in the order in which they came, and overtaken by nobody who comes later.
 *
 * <p>Why nobody is: the door is open for others only when all who stood here have passed. Who opens it counts who came, lets
 * them pass, and opens if nobody came meanwhile. A call stands in the queue before it is counted, so those who were counted have passed.
 * One that finds the door open when it is to be counted has passed too, or is still in the queue, where nobody looks any
 * more: then it leaves by itself.
 */
final class Anteroom {

    private static final int OPEN = -1;

    private final Queue<MonoSink<Void>> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger came = new AtomicInteger();
    private final AtomicBoolean opening = new AtomicBoolean();

    /** Whether calls need not wait here. */
    boolean isOpen() {
        return came.get() == OPEN;
    }

    /**
     * Completes when the door is open and all who came before have passed.
     *
     * @param entered what sees to it that the door will be {@linkplain #open opened}, or those who stand here {@linkplain #refuse refused}
     */
    Mono<Void> enter(Runnable entered) {
        return Mono.create(sink -> {
            waiting.add(sink);
            if (came.getAndUpdate(count -> count == OPEN ? OPEN : count + 1) == OPEN) {
                if (waiting.remove(sink)) {
                    sink.success();
                }
            } else {
                entered.run();
            }
        });
    }

    /** Lets all pass, from now on at once. The first one does: who opens it at the same time need not wait for that. */
    void open() {
        if (!opening.compareAndSet(false, true)) {
            return;
        }
        for (int seen = came.get(); seen != OPEN; seen = came.get()) {
            forAll(MonoSink::success);
            if (came.compareAndSet(seen, OPEN)) {
                return;
            }
        }
    }

    /** Sends all away who stand here; others may come. */
    void refuse(Throwable reason) {
        forAll(sink -> sink.error(reason));
    }

    private void forAll(Consumer<MonoSink<Void>> action) {
        for (MonoSink<Void> next = waiting.poll(); next != null; next = waiting.poll()) {
            try {
                action.accept(next);
            } catch (Throwable broken) {
                // The door must open for the others.
                Operators.onErrorDropped(broken, Context.of(next.contextView()));
            }
        }
    }
}

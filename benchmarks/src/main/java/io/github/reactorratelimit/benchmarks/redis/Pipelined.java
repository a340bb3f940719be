package io.github.reactorratelimit.benchmarks.redis;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Prepares many keys, some hundred at a time. */
final class Pipelined {

    private static final int AT_A_TIME = 256;

    private Pipelined() {}

    static void run(int keys, IntFunction<? extends CompletionStage<?>> step) throws InterruptedException {
        Semaphore room = new Semaphore(AT_A_TIME);
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        for (int key = 0; key < keys; key++) {
            room.acquire();
            step.apply(key).whenComplete((done, error) -> {
                failure.compareAndSet(null, error);
                room.release();
            });
        }
        room.acquire(AT_A_TIME);
        if (failure.get() != null) {
            throw new IllegalStateException("a key could not be prepared", new ExecutionException(failure.get()));
        }
    }
}

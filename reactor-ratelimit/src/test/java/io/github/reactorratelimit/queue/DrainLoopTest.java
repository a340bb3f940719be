package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Hooks;

/** Whatever is thrown at work, the worker is there for those who come later. */
@ExpectsDrops
class DrainLoopTest {

    private final Queue<Runnable> tasks = new ArrayDeque<>();
    private final List<String> done = new ArrayList<>();
    private boolean retires;
    private boolean retired;

    private final DrainLoop worker = new DrainLoop() {
        @Override
        protected void drain() {
            for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                task.run();
            }
        }

        @Override
        protected boolean isDone() {
            return retires && tasks.isEmpty();
        }

        @Override
        protected void retired() {
            retired = true;
        }
    };

    static Stream<Throwable> failures() {
        return Stream.of(new IllegalStateException("broken"), new AssertionError("broken"), new StackOverflowError());
    }

    private static void fail(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        throw (RuntimeException) failure;
    }

    private boolean leave(Runnable task) {
        tasks.add(task);
        return worker.signal();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void whatComesAfterAFailureIsWorkedOff(Throwable failure) {
        leave(() -> fail(failure));
        leave(() -> done.add("later"));

        assertThat(done).containsExactly("later");
        assertThat(Drops.take()).containsExactly(failure);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void whatCameDuringAFailureIsWorkedOff(Throwable failure) {
        leave(() -> {
            leave(() -> done.add("meanwhile"));
            fail(failure);
        });

        assertThat(done).containsExactly("meanwhile");
    }

    @Test
    void hookThatThrowsDoesNotStopTheWorkerEither() {
        Hooks.onErrorDropped(dropped -> {
            throw new IllegalStateException("hook");
        });
        assertThatThrownBy(() -> leave(() -> fail(new IllegalArgumentException("broken"))))
                .hasMessageContaining("hook");
        leave(() -> done.add("later"));

        assertThat(done).containsExactly("later");
    }

    @Test
    void workerThatFailsWhenItGoesOutOfUseDoesSo() {
        retires = true;
        leave(() -> fail(new AssertionError("broken")));

        assertThat(retired).isTrue();
        assertThat(worker.signal()).isFalse();
    }
}

package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ManualScheduler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** How replies are shared out among tasks when subscribers take long. */
class ReplyExecutorTest {

    private static final int LOOKS = 100;

    private final ManualScheduler timer = new ManualScheduler(0);
    private final Tasks callbacks = new Tasks();
    private final ReplyExecutor executor = new ReplyExecutor(callbacks, timer);
    private int delivered;

    private void deliver() {
        executor.execute(() -> delivered++);
    }

    private void look() {
        timer.advance(Duration.ofMillis(1).toNanos());
        timer.runDue();
    }

    @Test
    void noMoreTasksPileUpWhileNoneBegins() {
        deliver();
        deliver();
        for (int i = 0; i < LOOKS; i++) {
            look();
        }
        assertThat(callbacks.waiting).hasSize(1);
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(2);
    }

    @Test
    void rejectedHelpDoesNotRunOnTheTimer() {
        executor.execute(() -> {
            deliver();
            callbacks.full = true;
            for (int i = 0; i < LOOKS; i++) {
                look();
            }
            assertThat(delivered).isZero();
        });
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(1);
    }

    @Test
    void whatASchedulerThatFailsDoesNotTakeIsDeliveredHereAndLaterRepliesToo() {
        callbacks.broken = new AssertionError("broken");
        deliver();
        assertThat(delivered).isEqualTo(1);

        callbacks.broken = null;
        deliver();
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(2);
    }

    @Test
    void subscriberThatTakesLongGetsHelp() {
        executor.execute(() -> {
            deliver();
            look();
            look();
            callbacks.waiting.remove().run();
            assertThat(delivered).isEqualTo(1);
        });
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(1);
    }

    /** Keeps tasks until the test runs them. */
    private static final class Tasks implements Scheduler {

        final Queue<Runnable> waiting = new ArrayDeque<>();
        boolean full;

        @Nullable
        Error broken;

        @Override
        public Disposable schedule(Runnable task) {
            if (broken != null) {
                throw broken;
            }
            if (full) {
                throw new RejectedExecutionException("full");
            }
            waiting.add(task);
            return Disposables.disposed();
        }

        @Override
        public Worker createWorker() {
            throw new UnsupportedOperationException("not needed");
        }
    }
}

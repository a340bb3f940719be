package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ManualScheduler;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** How answers are shared out among tasks when subscribers take long. */
class DeliveriesTest {

    private static final int LOOKS = 100;

    private final ManualScheduler timer = new ManualScheduler(0);
    private final Tasks callbacks = new Tasks();
    private final Deliveries deliveries = new Deliveries(callbacks, timer);
    private int delivered;

    private void deliver() {
        deliveries.add(() -> delivered++);
        deliveries.deliver(1);
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
        deliveries.add(() -> {
            deliver();
            callbacks.full = true;
            for (int i = 0; i < LOOKS; i++) {
                look();
            }
            assertThat(delivered).isZero();
        });
        deliveries.deliver(1);
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(1);
    }

    @Test
    void whatASchedulerThatFailsDoesNotTakeIsDeliveredHereAndWhatComesLaterToo() {
        callbacks.broken = new AssertionError("broken");
        deliver();
        assertThat(delivered).isEqualTo(1);
        assertThat(deliveries.runElsewhere(() -> delivered++)).isFalse();

        callbacks.broken = null;
        deliver();
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(2);
    }

    @Test
    void whoeverTakesLongGetsHelp() {
        deliveries.add(() -> {
            deliver();
            look();
            look();
            callbacks.waiting.remove().run();
            assertThat(delivered).isEqualTo(1);
        });
        deliveries.deliver(1);
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(1);
    }

    @Test
    void whoeverTakesLongHereGetsHelpForTheRestOfItsBundle() {
        AtomicInteger meanwhile = new AtomicInteger();
        deliveries.add(new Two(
                () -> {
                    look();
                    look();
                    callbacks.waiting.remove().run();
                    meanwhile.set(delivered);
                },
                () -> delivered++));
        assertThat(deliveries.deliverHere(2)).isTrue();
        assertThat(meanwhile).hasValue(1);
        assertThat(callbacks.waiting).isEmpty();
    }

    @Test
    void nothingIsDeliveredHereWhileATaskIsAtWork() {
        deliver();
        deliveries.add(() -> delivered++);
        assertThat(deliveries.deliverHere(1)).isFalse();
        assertThat(delivered).isZero();
        callbacks.waiting.remove().run();
        assertThat(delivered).isEqualTo(2);
    }

    @Test
    void whoeverTakesLongInATaskGetsHelpForTheRestOfItsBundle() {
        AtomicInteger meanwhile = new AtomicInteger();
        deliveries.add(new Two(
                () -> {
                    look();
                    look();
                    callbacks.waiting.remove().run();
                    meanwhile.set(delivered);
                },
                () -> delivered++));
        deliveries.deliver(2);
        callbacks.waiting.remove().run();
        assertThat(meanwhile).hasValue(1);
    }

    private static final class Two implements Deliveries.Bundle {

        private final Queue<Runnable> left;

        Two(Runnable first, Runnable second) {
            left = new ArrayDeque<>(List.of(first, second));
        }

        @Override
        public @Nullable Runnable take() {
            return left.poll();
        }

        @Override
        public @Nullable Runnable first() {
            return left.peek();
        }

        @Override
        public int size() {
            return 2;
        }
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

package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** The one timer of a queue, on a clock that a test may set back. */
class QueueTimerTest {

    private static final long MILLI = 1_000_000;

    private final ManualScheduler time = new ManualScheduler(0);
    private final SettableClock clock = new SettableClock();
    private final RateLimiter limiter = RateLimiter.builder(
                    TokenBucket.perSecond(10).withBurst(2))
            .scheduler(clock)
            .build();
    private final List<String> granted = new ArrayList<>();

    private Disposable acquire(String name, long permits) {
        return limiter.acquire("key", permits).filter(Decision::allowed).subscribe(decision -> granted.add(name));
    }

    /** No permit is left, and the next comes in 100 ms. */
    private void spendAll() {
        limiter.acquire("key", 2).subscribe();
    }

    private void pass(long millis) {
        time.advance(millis * MILLI);
        time.runDue();
    }

    @Test
    void clockThatStepsBackMakesTheTimerFireNeitherEarlyNorNever() {
        spendAll();
        acquire("a", 1);
        acquire("b", 1);
        clock.stepBack(5 * MILLI);
        pass(100);
        assertThat(granted).as("95 ms on the clock").isEmpty();
        pass(4);
        assertThat(granted).as("99 ms on the clock").isEmpty();
        pass(1);
        assertThat(granted).containsExactly("a");
        pass(100);
        assertThat(granted).containsExactly("a", "b");
    }

    @Test
    void clockThatStepsBackWhileTheQueueSchedulesDelaysTheTimerByThat() {
        spendAll();
        acquire("a", 1);
        acquire("b", 1);
        clock.whileTheQueueLooks = () -> clock.stepBack(5 * MILLI);
        pass(100);
        assertThat(granted).containsExactly("a");
        pass(104);
        assertThat(granted).containsExactly("a");
        pass(1);
        assertThat(granted).containsExactly("a", "b");
    }

    @Test
    void timerThatFiresWhileTheQueueIsAtWorkIsNotForgotten() {
        spendAll();
        acquire("a", 1);
        acquire("b", 1);
        pass(99);
        clock.whileTheQueueLooks = () -> pass(1);
        acquire("c", 1);
        time.runDue();
        assertThat(granted).containsExactly("a");
        pass(100);
        assertThat(granted).containsExactly("a", "b");
        pass(100);
        assertThat(granted).containsExactly("a", "b", "c");
    }

    @Test
    void rescheduleThatArrivesWhileTheTimerFiresIsNotLost() {
        spendAll();
        acquire("a", 1);
        acquire("b", 1);
        acquire("c", 2);
        clock.whileTheQueueSchedules = () -> limiter.reset("key").subscribe();
        pass(100);
        assertThat(granted).as("the reset lets the second go, too").containsExactly("a", "b");
        pass(99);
        assertThat(granted).hasSize(2);
        pass(1);
        assertThat(granted).containsExactly("a", "b", "c");
        assertThat(time.pending()).isZero();
    }

    @Test
    void queueThatIsRescheduledByTheTimerItselfLeavesTheNextTaskInPlace() {
        spendAll();
        acquire("a", 1);
        acquire("b", 1);
        int scheduled = clock.delayed;
        pass(100);
        assertThat(granted).containsExactly("a");
        assertThat(clock.delayed).as("one task for the second waiter").isEqualTo(scheduled + 1);
        pass(50);
        for (int i = 0; i < 10; i++) {
            acquire("later", 1);
        }
        assertThat(clock.delayed)
                .as("nothing is due before the task that is there")
                .isEqualTo(scheduled + 1);
        assertThat(time.pending()).isOne();
        pass(50);
        assertThat(granted).containsExactly("a", "b");
    }

    @Test
    void taskOfAWaiterThatCancelledStaysAndSchedulesTheNext() {
        spendAll();
        Disposable first = acquire("a", 1);
        acquire("b", 2);
        pass(50);
        int scheduled = clock.delayed;
        first.dispose();
        assertThat(clock.delayed).isEqualTo(scheduled);
        pass(50);
        assertThat(clock.delayed).isEqualTo(scheduled + 1);
        pass(100);
        assertThat(granted).containsExactly("b");
    }

    @Test
    void queueWithoutWaitersHasNoTask() {
        spendAll();
        acquire("a", 1).dispose();
        assertThat(time.pending()).isZero();
    }

    @Test
    void taskForAnEarlierTimeReplacesTheLaterOne() {
        spendAll();
        Disposable first = acquire("a", 2);
        acquire("b", 1);
        assertThat(time.nextIn()).isEqualTo(200 * MILLI);
        first.dispose();
        assertThat(time.nextIn()).isEqualTo(100 * MILLI);
        assertThat(time.pending()).isOne();
    }

    /** One that fires after it was replaced must not hide that the one which replaced it has fired too. */
    @Test
    void taskThatCouldNotBeDisposedInTimeLeavesTheTimerRunning() {
        List<Runnable> tasks = clock.byHand;
        clock.isByHand = true;
        spendAll();
        Disposable first = acquire("a", 2);
        acquire("b", 1);
        first.dispose();
        assertThat(tasks).as("for 200 ms, and for 100 ms").hasSize(2);
        time.advance(100 * MILLI);
        clock.whileTheQueueLooks = () -> {
            tasks.get(1).run();
            tasks.get(0).run();
        };
        acquire("c", 1);
        time.runDue();
        assertThat(granted).containsExactly("b");
        assertThat(tasks).as("one for the next waiter").hasSize(3);
        time.advance(100 * MILLI);
        tasks.get(2).run();
        time.runDue();
        assertThat(granted).containsExactly("b", "c");
    }

    /** The time of {@link #time}, less what the clock was set back by. */
    private final class SettableClock implements Scheduler {

        private long setBackNanos;
        private Runnable whileTheQueueLooks = () -> {};
        private Runnable whileTheQueueSchedules = () -> {};

        /** Tasks that were scheduled with a delay. */
        private int delayed;

        /** Whether such tasks run when the test says so, though they were disposed. */
        private boolean isByHand;

        private final List<Runnable> byHand = new ArrayList<>();

        void stepBack(long nanos) {
            setBackNanos += nanos;
        }

        @Override
        public long now(TimeUnit unit) {
            long nanos = time.now(TimeUnit.NANOSECONDS) - setBackNanos;
            if (isQueue()) {
                Runnable meanwhile = whileTheQueueLooks;
                whileTheQueueLooks = () -> {};
                meanwhile.run();
            }
            return unit.convert(Duration.ofNanos(nanos));
        }

        private static boolean isQueue() {
            return StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(KeyQueue.class.getName())
                                    && frame.getMethodName().equals("drain")));
        }

        @Override
        public Disposable schedule(Runnable task) {
            return time.schedule(task);
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            delayed++;
            Runnable meanwhile = whileTheQueueSchedules;
            whileTheQueueSchedules = () -> {};
            meanwhile.run();
            if (isByHand) {
                byHand.add(task);
                return Disposables.single();
            }
            return time.schedule(task, delay, unit);
        }

        @Override
        public Worker createWorker() {
            return time.createWorker();
        }
    }
}

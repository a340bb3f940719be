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

/** The one timer of a limiter's queues, on a clock that a test may set back. */
class QueueTimerTest {

    private static final long MILLI = 1_000_000;

    private final ManualScheduler time = new ManualScheduler(0);
    private final SettableClock clock = new SettableClock();
    private final RateLimiter limiter = RateLimiter.builder(
                    TokenBucket.perSecond(10).withBurst(1))
            .scheduler(clock)
            .build();
    private final List<String> granted = new ArrayList<>();

    private Disposable acquire(String key) {
        return limiter.acquire(key).filter(Decision::allowed).subscribe(decision -> granted.add(key));
    }

    private void pass(long millis) {
        time.advance(millis * MILLI);
        time.runDue();
    }

    @Test
    void waiterIsGrantedAlthoughTheClockStepsBackWhileTheTimerFires() {
        acquire("a");
        acquire("a");
        // The timer sees that the waiter is due, and its queue, which looks next, that it is not yet.
        time.advance(100 * MILLI);
        clock.stepBackAfterNextReading(5 * MILLI);
        time.runDue();
        assertThat(granted).containsExactly("a");
        pass(5);
        assertThat(granted).containsExactly("a", "a");
    }

    @Test
    void queueThatIsRescheduledByTheTimerItselfLeavesTheNextTaskInPlace() {
        acquire("a");
        acquire("a");
        acquire("a");
        int scheduled = clock.delayed;
        pass(100);
        assertThat(granted).containsExactly("a", "a");
        assertThat(clock.delayed).as("one task for the third waiter").isEqualTo(scheduled + 1);
        // They are due at 200 ms, as the third waiter is, and behind it.
        pass(50);
        for (int i = 0; i < 10; i++) {
            acquire("b" + i);
            acquire("b" + i);
        }
        assertThat(clock.delayed)
                .as("nothing is due before the task that is there")
                .isEqualTo(scheduled + 1);
        assertThat(time.pending()).isOne();
        pass(50);
        assertThat(granted).hasSize(13).endsWith("a");
    }

    @Test
    void taskOfAWaiterThatCancelledStaysAndSchedulesTheNext() {
        acquire("a");
        Disposable waiter = acquire("a");
        pass(50);
        acquire("b");
        acquire("b");
        int scheduled = clock.delayed;
        waiter.dispose();
        assertThat(clock.delayed).isEqualTo(scheduled);
        pass(50);
        assertThat(clock.delayed).isEqualTo(scheduled + 1);
        pass(50);
        assertThat(granted).containsExactly("a", "b", "b");
    }

    @Test
    void taskForAnEarlierTimeReplacesTheLaterOne() {
        RateLimiter other = RateLimiter.builder(TokenBucket.perSecond(10).withBurst(2))
                .scheduler(clock)
                .build();
        other.acquire("a", 2).subscribe();
        other.acquire("a", 2).subscribe();
        assertThat(time.nextIn()).isEqualTo(200 * MILLI);
        other.acquire("b", 2).subscribe();
        other.acquire("b").subscribe();
        assertThat(time.nextIn()).isEqualTo(100 * MILLI);
        assertThat(time.pending()).isOne();
    }

    /** One that fires after it was replaced must not hide that the one which replaced it has fired too. */
    @Test
    void taskThatCouldNotBeDisposedInTimeLeavesTheTimerRunning() {
        TasksByHand tasks = new TasksByHand();
        RateLimiter other = RateLimiter.builder(TokenBucket.perSecond(10).withBurst(2))
                .scheduler(tasks)
                .build();
        other.acquire("a", 2).subscribe();
        other.acquire("a", 2).subscribe();
        other.acquire("b", 2).subscribe();
        other.acquire("b").subscribe();
        assertThat(tasks.delayed).as("for 200 ms, and for 100 ms").hasSize(2);
        time.advance(250 * MILLI);
        tasks.whileTheTimerLooks = () -> {
            tasks.delayed.get(1).run();
            tasks.delayed.get(0).run();
        };
        other.acquire("c", 2).subscribe();
        other.acquire("c").subscribe(decision -> granted.add("c"));
        assertThat(tasks.delayed).as("one for the next waiter").hasSize(3);
        time.advance(100 * MILLI);
        tasks.delayed.get(2).run();
        time.runDue();
        assertThat(granted).containsExactly("c");
    }

    /** Delayed tasks run when the test says so, though they were disposed. */
    private final class TasksByHand implements Scheduler {

        private final List<Runnable> delayed = new ArrayList<>();
        private Runnable whileTheTimerLooks = () -> {};

        @Override
        public long now(TimeUnit unit) {
            if (isTimer()) {
                Runnable meanwhile = whileTheTimerLooks;
                whileTheTimerLooks = () -> {};
                meanwhile.run();
            }
            return time.now(unit);
        }

        private static boolean isTimer() {
            return StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(KeyQueues.class.getName())
                                    && frame.getMethodName().equals("drain")));
        }

        @Override
        public Disposable schedule(Runnable task) {
            return time.schedule(task);
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            delayed.add(task);
            return Disposables.single();
        }

        @Override
        public Worker createWorker() {
            return time.createWorker();
        }
    }

    /** The time of {@link #time}, less what the clock was set back by. */
    private final class SettableClock implements Scheduler {

        private long setBackNanos;
        private long nextSetBackNanos;
        private boolean isSetBackNext;

        /** Tasks that were scheduled with a delay. */
        private int delayed;

        void stepBackAfterNextReading(long nanos) {
            nextSetBackNanos = nanos;
            isSetBackNext = true;
        }

        @Override
        public long now(TimeUnit unit) {
            long nanos = time.now(TimeUnit.NANOSECONDS) - setBackNanos;
            if (isSetBackNext) {
                isSetBackNext = false;
                setBackNanos = nextSetBackNanos;
            }
            return unit.convert(Duration.ofNanos(nanos));
        }

        @Override
        public Disposable schedule(Runnable task) {
            return time.schedule(task);
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            delayed++;
            return time.schedule(task, delay, unit);
        }

        @Override
        public Worker createWorker() {
            return time.createWorker();
        }
    }
}

package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Drops;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

class QueueRuntimeTest {

    private static final int MANY = 100_000;

    private static QueueRuntime runtime(Scheduler callbacks) {
        LimiterSettings settings = new LimiterSettings(
                "test", TokenBucket.perSecond(1), Schedulers.parallel(), callbacks, RateLimitRecorder.NOOP, 1, true);
        return new QueueRuntime(settings, Map.of());
    }

    @Test
    void schedulerThatRunsTasksAtOnceDeliversInOrderWithoutRecursion() {
        List<Integer> delivered = new ArrayList<>();
        QueueRuntime dispatcher = runtime(Schedulers.immediate());
        IntStream.range(0, MANY).forEach(i -> dispatcher.add(() -> delivered.add(i)));
        dispatcher.dispatch();
        assertThat(delivered).hasSize(MANY).isSorted();
    }

    @Test
    void oneTaskDeliversAllAnswersInOrder() {
        ManualScheduler scheduler = new ManualScheduler(0);
        List<Integer> delivered = new ArrayList<>();
        QueueRuntime dispatcher = runtime(scheduler);
        IntStream.range(0, 100).forEach(i -> dispatcher.add(() -> delivered.add(i)));
        dispatcher.dispatch();
        scheduler.runDue();
        assertThat(delivered).hasSize(100).isSorted();
    }

    @Test
    void disposedSchedulerLosesNoAnswerThoughASubscriberThrows() {
        ManualScheduler scheduler = new ManualScheduler(0);
        scheduler.dispose();
        List<Integer> delivered = new ArrayList<>();
        QueueRuntime dispatcher = runtime(scheduler);
        IntStream.range(0, 100)
                .forEach(i -> dispatcher.add(() -> {
                    if (i == 50) {
                        throw new IllegalStateException("broken");
                    }
                    delivered.add(i);
                }));
        dispatcher.dispatch();
        dispatcher.dispatch();
        assertThat(delivered).hasSize(99).isSorted();
        assertThat(Drops.take()).singleElement().asString().contains("broken");
    }

    @Test
    void slowSubscribersOfABatchDelayOnlyThemselves() throws InterruptedException {
        int slow = 2 * Schedulers.DEFAULT_POOL_SIZE;
        Scheduler threads = Schedulers.newBoundedElastic(slow + 1, MANY, "callbacks");
        CountDownLatch end = new CountDownLatch(1);
        CountDownLatch others = new CountDownLatch(10 * slow);
        QueueRuntime dispatcher = runtime(threads);
        for (int i = 0; i < slow; i++) {
            dispatcher.add(() -> await(end));
            IntStream.range(0, 10).forEach(j -> dispatcher.add(others::countDown));
        }
        dispatcher.dispatch();
        assertThat(others.await(30, TimeUnit.SECONDS)).isTrue();
        end.countDown();
        threads.disposeGracefully().block();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void subscriberThatThrowsKeepsNobodyFromTheirAnswers() {
        ManualScheduler scheduler = new ManualScheduler(0);
        List<Integer> delivered = new ArrayList<>();
        QueueRuntime dispatcher = runtime(scheduler);
        for (int i = 0; i < 100; i++) {
            int answer = i;
            dispatcher.add(() -> {
                if (answer % 10 == 0) {
                    throw new IllegalStateException("broken");
                }
                delivered.add(answer);
            });
        }
        dispatcher.dispatch();
        while (scheduler.pending() > 0) {
            try {
                scheduler.runDue();
            } catch (IllegalStateException broken) {
                assertThat(broken).hasMessage("broken");
            }
        }
        assertThat(delivered).hasSize(90);
    }
}

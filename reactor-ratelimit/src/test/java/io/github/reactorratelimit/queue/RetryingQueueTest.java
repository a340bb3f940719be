package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitRecorder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A line whose store cannot say when permits come back. */
class RetryingQueueTest {

    private static final ConcurrencyLimit LIMIT = ConcurrencyLimit.of(1);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final KeyQueues<RetryingKey, RetryingQueue> lines =
            RetryingQueue.queues(new LimiterSettings("line", LIMIT, time, time, RateLimitRecorder.NOOP, 10, true));
    private final HandDesk desk = new HandDesk();

    private final Disposable.Composite waits = Disposables.composite();

    @AfterEach
    void dispose() {
        waits.dispose();
        time.dispose();
    }

    /** Denies every ask, at once or when it is told to. */
    private final class HandDesk implements RetryingKey {

        final List<Long> askedAtMillis = new ArrayList<>();
        Mono<Decision> answer = Mono.fromSupplier(() -> denial(1, Decision.UNKNOWN));

        @Override
        public String key() {
            return "k";
        }

        @Override
        public long now() {
            return time.now(TimeUnit.NANOSECONDS);
        }

        @Override
        public long pausedUntil() {
            return Long.MIN_VALUE;
        }

        @Override
        public Mono<Decision> request(long permits) {
            askedAtMillis.add(time.now(TimeUnit.MILLISECONDS));
            return answer;
        }

        @Override
        public void refund(Debit debit) {}

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            return denial(permits, QueuedKey.retryAfter(now, grantedAt));
        }

        private Decision denial(long permits, long retryAfterNanos) {
            return Decision.deny(LIMIT, permits, 0, Decision.UNKNOWN, retryAfterNanos);
        }

        List<Long> pauses() {
            List<Long> pauses = new ArrayList<>();
            for (int i = 1; i < askedAtMillis.size(); i++) {
                pauses.add(askedAtMillis.get(i) - askedAtMillis.get(i - 1));
            }
            return pauses;
        }
    }

    private void advanceMillis(int millis) {
        for (int i = 0; i < millis; i++) {
            time.advanceTimeBy(Duration.ofMillis(1));
        }
    }

    @Test
    void headAsksLessAndLessOftenUntilThereIsAReason() {
        waits.add(lines.<Decision>await(desk, 1, LimiterState.UNBOUNDED).subscribe());
        advanceMillis(1_000);
        List<Long> pauses = desk.pauses();
        for (int i = 0; i < pauses.size(); i++) {
            long most = Math.min(10L << i, 160);
            assertThat(pauses.get(i)).isBetween(most * 9 / 10, most + 1);
        }
        assertThat(pauses).hasSizeBetween(8, 10);

        int before = desk.askedAtMillis.size();
        lines.ifWaiting("k", RetryingQueue::retryNow);
        assertThat(desk.askedAtMillis).hasSize(before + 1);
        advanceMillis(11);
        assertThat(desk.askedAtMillis).hasSize(before + 2);
    }

    @Test
    void reasonThatComesWhileAnAskIsUnderWayIsNotForgotten() {
        Sinks.One<Decision> late = Sinks.one();
        desk.answer = late.asMono();
        waits.add(lines.<Decision>await(desk, 1, LimiterState.UNBOUNDED).subscribe());
        lines.ifWaiting("k", RetryingQueue::retryNow);
        assertThat(desk.askedAtMillis).hasSize(1);
        desk.answer = Mono.never();
        late.tryEmitValue(desk.denial(1, Decision.UNKNOWN));
        assertThat(desk.askedAtMillis).hasSize(2);
    }

    @Test
    void waiterIsNotDeniedBeforeItsPatienceEnds() {
        AtomicReference<Decision> answer = new AtomicReference<>();
        lines.<Decision>await(desk, 1, Duration.ofMillis(100).toNanos()).subscribe(answer::set);
        advanceMillis(99);
        assertThat(answer).hasNullValue();
        advanceMillis(1);
        assertThat(answer.get().allowed()).isFalse();
    }
}

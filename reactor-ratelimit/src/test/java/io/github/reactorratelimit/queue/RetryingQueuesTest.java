package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A line whose desk answers when the test says so. */
class RetryingQueuesTest implements RetryingKey {

    private static final String KEY = "k";
    private static final TokenBucket POLICY = TokenBucket.perHour(1);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final KeyQueues<RetryingKey, RetryingQueue> lines =
            RetryingQueue.queues(new LimiterSettings("test", POLICY, time, time, RateLimitRecorder.NOOP, 100, true));
    private final Deque<Sinks.One<Decision>> asked = new ArrayDeque<>();

    @Override
    public String key() {
        return KEY;
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
        Sinks.One<Decision> answer = Sinks.one();
        asked.add(answer);
        return answer.asMono();
    }

    @Override
    public void refund(Debit debit) {}

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        return denial(permits, QueuedKey.retryAfter(now, grantedAt));
    }

    private Decision denial(long permits, long retryAfterNanos) {
        return Decision.deny(POLICY, permits, retryAfterNanos);
    }

    private CompletableFuture<Decision> await(Duration maxWait) {
        return lines.<Decision>await(this, 1, maxWait.toNanos()).toFuture();
    }

    private void denyForADay() {
        asked.remove().tryEmitValue(denial(1, Duration.ofDays(1).toNanos())).orThrow();
    }

    @Test
    void changeThatIsHeardWhileTheHeadAsksIsAskedForOnceMore() {
        await(Duration.ofDays(2));
        assertThat(asked).hasSize(1);

        lines.ifWaiting(KEY, RetryingQueue::retryNow);
        assertThat(asked).as("one question at a time").hasSize(1);
        denyForADay();

        assertThat(asked).as("the denial may be older than the change").hasSize(1);
        denyForADay();
        assertThat(asked).as("nothing changed since").isEmpty();
        time.advanceTimeBy(Duration.ofHours(23));
        assertThat(asked).isEmpty();
        time.advanceTimeBy(Duration.ofHours(2));
        assertThat(asked).hasSize(1);
    }

    @Test
    void denialThatMayBeOutdatedEndsNoWait() {
        CompletableFuture<Decision> wait = await(Duration.ofHours(1));
        lines.forEachQueue(RetryingQueue::retryNow);
        denyForADay();
        time.advanceTime();
        assertThat(wait).isNotDone();

        denyForADay();
        time.advanceTime();

        assertThat(wait).isCompletedWithValueMatching(decision -> !decision.allowed());
    }
}

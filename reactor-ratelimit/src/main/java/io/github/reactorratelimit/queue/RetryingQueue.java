package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import reactor.core.publisher.Mono;

/**
 * A queue in front of a store that answers later and that other processes use too. Its head requests permits. After a denial it
 * requests again when the denial said, a little later at random, so that the heads of many processes do not all come at
 * once. A grant is for the waiter that is the head when it arrives.
 */
public final class RetryingQueue extends CallingQueue<RetryingKey> {

    /** How long to wait where a denial could not say: doubles from one such denial to the next. */
    private static final long FIRST_BLIND_RETRY_NANOS = Duration.ofMillis(10).toNanos();

    private static final long LAST_BLIND_RETRY_NANOS = Duration.ofMillis(160).toNanos();

    /** A retry comes late by at most this share of its wait, and at most this long. */
    private static final long JITTER_SHARE = 10;

    private static final long MAX_JITTER_NANOS = Duration.ofMillis(1).toNanos();

    /** A fallback does not know when the store answers again. */
    private static final long MAX_DEGRADED_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    /** The drain loop's. Whether something changed since the request in flight was made: a denial may no longer be true. */
    private boolean outdated;

    private long blindRetryNanos = FIRST_BLIND_RETRY_NANOS;

    private RetryingQueue(QueueRuntime runtime, RetryingKey key) {
        super(runtime, key);
    }

    /** The queues of one limiter whose store answers later. */
    public static KeyQueues<RetryingKey, RetryingQueue> queues(LimiterSettings settings) {
        return new KeyQueues<>(settings, RetryingQueue::new);
    }

    /** The key has another policy: the waiters request permits from {@code other}. */
    public void reschedule(RetryingKey other) {
        post(now -> key = other);
        retryNow();
    }

    /** Permits came back, or a pause changed: no need to wait for the time of the last denial. */
    public void retryNow() {
        post(now -> {
            outdated = isBusy();
            notBefore = Long.MIN_VALUE;
            blindRetryNanos = FIRST_BLIND_RETRY_NANOS;
        });
    }

    @Override
    protected void admit(Waiter<RetryingKey> newcomer, long now) {
        if (isOverfull() || permits() > key.queueCapacity()) {
            deny(newcomer, now, Algorithm.UNKNOWN);
        } else {
            watch(newcomer);
        }
    }

    @Override
    protected Mono<?> call() {
        outdated = false;
        Waiter<RetryingKey> head = first();
        return head == null ? Mono.empty() : key.request(head.permits());
    }

    @Override
    protected void take(Object received, long now) {
        Waiter<RetryingKey> head = first();
        if (received instanceof Decision decision) {
            if (decision.allowed()) {
                grant(decision);
            } else if (!outdated) {
                retryLater(decision, now);
                denyUntilEndOfPause(key.pausedUntil(), now);
            }
        } else if (head != null) {
            answer(head, received, WaitOutcome.DENIED);
        }
    }

    /** A waiter that cannot outlast a pause need not wait for its end. */
    private void denyUntilEndOfPause(long pausedUntil, long now) {
        if (pausedUntil > now) {
            denyUntil(pausedUntil - 1, now, pausedUntil);
        }
    }

    private void grant(Decision decision) {
        blindRetryNanos = FIRST_BLIND_RETRY_NANOS;
        Waiter<RetryingKey> head = first();
        while (head != null && head.permits() == decision.permits()) {
            if (answer(head, decision)) {
                return;
            }
            head = first();
        }
        decision.debit().filter(Debit::claim).ifPresent(key::refund);
    }

    private void retryLater(Decision denial, long now) {
        if (denial.retryAfter().isEmpty()) {
            notBefore = now + blindRetryNanos - ThreadLocalRandom.current().nextLong(blindRetryNanos / JITTER_SHARE);
            blindRetryNanos = Math.min(2 * blindRetryNanos, LAST_BLIND_RETRY_NANOS);
            return;
        }
        long wait = denial.retryAfter().get().toNanos();
        Waiter<RetryingKey> head = first();
        if (head != null && head.permits() == denial.permits() && head.hasDeadline() && wait > head.notAfter() - now) {
            answer(head, denial);
            return;
        }
        if (denial.degraded()) {
            wait = Math.min(wait, MAX_DEGRADED_RETRY_NANOS);
        }
        long jitter = Math.min(wait / JITTER_SHARE, MAX_JITTER_NANOS);
        notBefore = now + wait + (jitter == 0 ? 0 : ThreadLocalRandom.current().nextLong(jitter));
    }

    @Override
    protected void deny(Waiter<RetryingKey> waiter, long now, long grantedAt) {
        answer(waiter, key.deny(now, waiter.permits(), grantedAt));
    }
}

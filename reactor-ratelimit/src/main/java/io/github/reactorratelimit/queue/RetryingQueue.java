package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import reactor.core.publisher.Mono;

/**
 * A queue in front of a store that answers later and that other processes use too. Its head requests permits. After a denial it
 * requests again when the denial said, a little later at random, so that the heads of many processes do not all come at
 * once. A grant is for the waiter that is the head when it arrives.
 */
final class RetryingQueue extends KeyQueue<Waiter<Decision>, WaiterList<Waiter<Decision>>> {

    /** How long to wait where a denial could not say: doubles from one such denial to the next. */
    private static final long FIRST_BLIND_RETRY_NANOS = Duration.ofMillis(10).toNanos();

    private static final long LAST_BLIND_RETRY_NANOS = Duration.ofMillis(160).toNanos();

    /** A retry comes late by at most this share of its wait, and at most this long. */
    private static final long JITTER_SHARE = 10;

    /** A stand-in knows nothing of when the state answers again. */
    private static final long MAX_DEGRADED_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private static final long MAX_JITTER_NANOS = Duration.ofMillis(1).toNanos();

    private final int maxWaiters;
    private volatile RetryingKey key;
    private final Queue<Object> answers = new ConcurrentLinkedQueue<>();
    private volatile boolean askAgain;

    /** The owner's, as are the fields below. */
    private boolean asking;

    /** Whether something changed since the question under way was asked: a denial may no longer be true. */
    private boolean outdated;

    private long notBefore;
    private long blindRetryNanos = FIRST_BLIND_RETRY_NANOS;

    RetryingQueue(QueueRuntime runtime, int maxWaiters, RetryingKey key) {
        super(runtime, new WaiterList<>());
        this.maxWaiters = maxWaiters;
        this.key = key;
        this.notBefore = key.now();
    }

    @Override
    public long now() {
        return key.now();
    }

    /** A grant under way must find somebody who takes it or gives it back. */
    @Override
    protected boolean isBusy() {
        return asking;
    }

    /** The key has another policy: those who wait ask at another key. */
    void replan(RetryingKey other) {
        key = other;
        askAgain();
    }

    /** Permits came back, or a pause changed: no need to wait for the time of the last denial. */
    void askAgain() {
        askAgain = true;
        signal();
    }

    @Override
    protected void admit(Waiter<Decision> newcomer, long now) {
        if (waiters.size() > maxWaiters || waiters.permits() > key.queueCapacity()) {
            deny(newcomer, now, Algorithm.UNKNOWN);
        } else {
            watch(newcomer);
        }
    }

    @Override
    protected long serve(long now) {
        if (askAgain) {
            askAgain = false;
            outdated = asking;
            notBefore = now;
            blindRetryNanos = FIRST_BLIND_RETRY_NANOS;
        }
        for (Object answer = answers.poll(); answer != null; answer = answers.poll()) {
            asking = false;
            take(answer, now);
        }
        expire(now);
        Waiter<Decision> head = waiters.first();
        if (asking || head == null) {
            return Algorithm.UNKNOWN;
        }
        if (notBefore > now) {
            return notBefore;
        }
        ask(head.permits());
        return Algorithm.UNKNOWN;
    }

    /** Those who cannot outlast a pause need not wait for its end to be denied. */
    private void denyWhoCannotOutlast(long pausedUntil, long now) {
        Waiter<Decision> waiter = waiters.first();
        while (waiter != null) {
            Waiter<Decision> following = waiters.after(waiter);
            if (pausedUntil > waiter.notAfter()) {
                deny(waiter, now, pausedUntil);
            }
            waiter = following;
        }
    }

    private void ask(long permits) {
        asking = true;
        outdated = false;
        Mono.defer(() -> key.ask(permits))
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no answer")))
                .subscribe(this::answered, this::answered);
    }

    private void answered(Object answer) {
        answers.offer(answer);
        signal();
    }

    private void take(Object answer, long now) {
        if (answer instanceof Decision decision) {
            if (decision.allowed()) {
                grant(decision);
            } else if (!outdated) {
                retryLater(decision, now);
                denyWhoCannotOutlast(key.pausedUntil(), now);
            }
        } else if (answer instanceof Throwable failure) {
            Waiter<Decision> head = waiters.first();
            if (head != null) {
                answer(head, failure, WaitOutcome.DENIED);
            }
        }
    }

    private void grant(Decision decision) {
        blindRetryNanos = FIRST_BLIND_RETRY_NANOS;
        Waiter<Decision> head = waiters.first();
        while (head != null && head.permits() == decision.permits()) {
            if (answer(head, decision)) {
                return;
            }
            head = waiters.first();
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
        Waiter<Decision> head = waiters.first();
        if (head != null && head.permits() == denial.permits() && isTooLong(wait, head, now)) {
            answer(head, denial);
            return;
        }
        if (denial.degraded()) {
            wait = Math.min(wait, MAX_DEGRADED_RETRY_NANOS);
        }
        long jitter = Math.min(wait / JITTER_SHARE, MAX_JITTER_NANOS);
        notBefore = now + wait + (jitter == 0 ? 0 : ThreadLocalRandom.current().nextLong(jitter));
    }

    /** A wait without end has no difference to a clock that may be negative. */
    private static boolean isTooLong(long wait, Waiter<Decision> waiter, long now) {
        return waiter.hasDeadline() && wait > waiter.notAfter() - now;
    }

    @Override
    protected void deny(Waiter<Decision> waiter, long now, long grantedAt) {
        long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : grantedAt - now;
        answer(waiter, key.deny(waiter.permits(), retryAfter));
    }
}

package io.github.reactorratelimit.waiting;

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
 * A line in front of a state that answers later and that others use too. Its head asks, and if it is
 * denied asks again when the denial said, a little later at random so that the heads of many
 * processes do not all come at once. A grant is for whoever is the head when it arrives.
 */
final class RemoteLine extends Line {

    /** How long to wait where a denial could not say: doubles from one such denial to the next. */
    private static final long FIRST_BLIND_RETRY_NANOS = Duration.ofMillis(10).toNanos();

    private static final long LAST_BLIND_RETRY_NANOS = Duration.ofMillis(160).toNanos();

    /** A retry comes late by at most this share of its wait, and at most this long. */
    private static final long JITTER_SHARE = 10;

    /** A stand-in knows nothing of when the state answers again. */
    private static final long MAX_DEGRADED_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private static final long MAX_JITTER_NANOS = Duration.ofMillis(1).toNanos();

    private final RemoteLines lines;
    private volatile RemoteDesk desk;
    private final Queue<Object> answers = new ConcurrentLinkedQueue<>();
    private volatile boolean askAgain;

    /** The owner's, as are the fields below. */
    private boolean asking;

    /** Whether something changed since the question under way was asked: a denial may no longer be true. */
    private boolean outdated;

    private long notBefore;
    private long blindRetryNanos = FIRST_BLIND_RETRY_NANOS;

    RemoteLine(RemoteLines lines, long id, String key, RemoteDesk desk) {
        super(lines, id, key);
        this.lines = lines;
        this.desk = desk;
        this.notBefore = desk.now();
    }

    @Override
    long now() {
        return desk.now();
    }

    /** A grant under way must find somebody who takes it or gives it back. */
    @Override
    boolean isBusy() {
        return asking;
    }

    /** The key has another policy: those who wait ask at another desk. */
    void replan(RemoteDesk other) {
        desk = other;
        askAgain();
    }

    /** Permits came back, or a pause changed: no need to wait for the time of the last denial. */
    void askAgain() {
        askAgain = true;
        poke();
    }

    @Override
    void left() {}

    @Override
    void admit(Waiter newcomer, long now) {
        if (waiters.size() > lines.maxWaiters()) {
            deny(newcomer, now, Algorithm.UNKNOWN);
        } else if (newcomer.hasDeadline()) {
            waiters.watch(newcomer);
        }
    }

    @Override
    long serve(long now) {
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
        Waiter head = waiters.first();
        if (asking || head == null) {
            return Algorithm.UNKNOWN;
        }
        if (notBefore > now) {
            return notBefore;
        }
        ask(head.permits);
        return Algorithm.UNKNOWN;
    }

    /** Those who cannot outlast a pause need not wait for its end to be denied. */
    private void denyWhoCannotOutlast(long pausedUntil, long now) {
        Waiter waiter = waiters.first();
        while (waiter != null) {
            Waiter following = waiter.next;
            if (pausedUntil > waiter.notAfter) {
                deny(waiter, now, pausedUntil);
            }
            waiter = following;
        }
    }

    private void ask(long permits) {
        asking = true;
        outdated = false;
        Mono.defer(() -> desk.ask(permits))
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no answer")))
                .subscribe(this::answered, this::answered);
    }

    private void answered(Object answer) {
        answers.offer(answer);
        poke();
    }

    private void take(Object answer, long now) {
        if (answer instanceof Decision decision) {
            if (decision.allowed()) {
                grant(decision);
            } else if (!outdated) {
                retryLater(decision, now);
                denyWhoCannotOutlast(desk.pausedUntil(), now);
            }
        } else if (answer instanceof Throwable failure) {
            Waiter head = waiters.first();
            if (head != null) {
                fail(head, failure, WaitOutcome.DENIED);
            }
        }
    }

    private void grant(Decision decision) {
        blindRetryNanos = FIRST_BLIND_RETRY_NANOS;
        Waiter head = waiters.first();
        while (head != null && head.permits == decision.permits()) {
            if (answer(head, decision)) {
                return;
            }
            head = waiters.first();
        }
        decision.debit().filter(Debit::claim).ifPresent(desk::refund);
    }

    private void retryLater(Decision denial, long now) {
        if (denial.retryAfter().isEmpty()) {
            notBefore = now + blindRetryNanos - ThreadLocalRandom.current().nextLong(blindRetryNanos / JITTER_SHARE);
            blindRetryNanos = Math.min(2 * blindRetryNanos, LAST_BLIND_RETRY_NANOS);
            return;
        }
        long wait = denial.retryAfter().get().toNanos();
        Waiter head = waiters.first();
        if (head != null && head.permits == denial.permits() && wait > head.notAfter - now) {
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
    void deny(Waiter waiter, long now, long grantedAt) {
        long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : grantedAt - now;
        answer(waiter, desk.deny(waiter.permits, retryAfter));
    }
}

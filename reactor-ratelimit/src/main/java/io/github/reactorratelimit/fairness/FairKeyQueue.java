package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.queue.KeyQueue;
import io.github.reactorratelimit.queue.QueueRuntime;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;

/**
 * The queue in front of one key of a limiter. Calls wait here; in the limiter's own queue wait this queue's {@link Asks},
 * which belong to no call. The call that leaves is chosen when a permit comes, from all that wait then: that makes
 * priorities and shares work, since the limiter itself grants in order of arrival.
 *
 * <h2>Why it is right</h2>
 *
 * <p><b>One owner.</b> {@link KeyQueue} lets one thread at a time handle calls that join or cancel, answers of the limiter and
 * the timer. It calls the limiter (an answer on the spot goes to the mailbox too, for the next round) but never a subscriber.
 *
 * <p><b>Never more than the limiter gave.</b> Only a grant answers a call with permits, a grant answers at most one call, and only
 * one on the same {@link Terms}: permits for a small call are never spent by a large one, and nothing is put together from
 * parts, which would be spent later than it was counted.
 *
 * <p><b>Nothing is lost.</b> Each grant has exactly one owner: the limiter until it answers, the mailbox, the drain loop, the
 * call once it is claimed. A claim fails if the subscriber cancelled first, and the next call is tried; if none
 * requests as much, the grant goes back. A subscriber that cancels between claim and delivery gives it back itself. A
 * withdrawn ask is cancelled: the limiter gives back what it had reserved, and what it answered before is in the mailbox.
 *
 * <p><b>No call is forgotten.</b> After each round, if a call waits, there is an ask in flight on the terms of the next call, or a
 * time at which to ask again. Each answer brings another round.
 *
 * <p><b>Out of turn</b> a call is served only if costs differ, and another call became the next between a grant and its
 * handling: then the grant goes to the first call that requests as much, which was next when the grant was made. Virtual
 * time and the classes' accounts are kept for the call that was really served.
 */
final class FairKeyQueue extends KeyQueue<FairCall, FairQueue> implements Ask.Listener {

    /** When to ask again where a denial did not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    private static final long MIN_RETRY_NANOS = Duration.ofMillis(1).toNanos();
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private static final long NEVER = Long.MAX_VALUE;

    private final RateLimiter limiter;
    private final Scheduler scheduler;
    private final QueueRuntime runtime;
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();

    /** The drain loop's, as are the fields below. */
    private final Asks asks;

    private final Outlook outlook;

    /** When to ask again after a denial. */
    private long askAgainAt = NEVER;

    private record Answer(Ask ask, Object outcome) {}

    FairKeyQueue(
            RateLimiter limiter,
            String key,
            FairQueue queue,
            Duration ahead,
            Scheduler scheduler,
            QueueRuntime runtime) {
        super(runtime, queue);
        this.limiter = limiter;
        this.scheduler = scheduler;
        this.runtime = runtime;
        this.asks = new Asks(limiter, key, ahead, now(), this);
        this.outlook = new Outlook(limiter, key);
        runtime.onClose(this::signal);
    }

    QueueRuntime runtime() {
        return runtime;
    }

    @Override
    public long now() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }

    /** It stays as long as its share. */
    @Override
    protected boolean isBusy() {
        return true;
    }

    boolean isEmpty() {
        return length() == 0;
    }

    int size(int rank) {
        return waiters.size(rank);
    }

    @Override
    public void answered(Ask ask, Object outcome) {
        answers.offer(new Answer(ask, outcome));
        signal();
    }

    /** For a grant that found no call. A store that cannot be told counts what is lost. */
    void giveBack(Terms terms, Object granted) {
        runtime.joined();
        terms.kind().giveBack(limiter, granted).subscribe(done -> {}, failed -> runtime.departed(), runtime::departed);
    }

    @Override
    protected void admit(FairCall call, long now) {
        if (waiters.size() == 1) {
            outlook.begin(now);
        }
        if (waiters.isOverfullBy(call)) {
            deny(call, now, NEVER);
        } else {
            watch(call);
        }
    }

    @Override
    protected void deny(FairCall call, long now, long grantedAt) {
        answer(call, Denials.deny(limiter, call.terms, outlook.degradation()), WaitOutcome.DENIED);
    }

    @Override
    protected long serve(long now) {
        for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
            take(answer, now);
        }
        expire(now);
        ask(now);
        if (impatient() == null) {
            return askAgainAt;
        }
        outlook.look(now);
        return Math.min(askAgainAt, now + Outlook.SILENCE_NANOS);
    }

    private void take(Answer answer, long now) {
        asks.ended(answer.ask);
        Terms terms = answer.ask.terms;
        Object outcome = answer.outcome;
        Decision denied = Denials.in(outcome);
        outlook.heard(outcome, now);
        if (denied != null && Denials.isFinal(denied)) {
            answerNextOf(terms, Denials.as(limiter, terms, denied));
        } else if (denied != null) {
            askLater(denied, now);
        } else if (outcome instanceof RateLimiterClosedException gone) {
            failAll(gone);
            runtime.dispatchIfDisposed();
        } else if (outcome instanceof Throwable failure) {
            answerNextOf(terms, failure);
        } else {
            asks.granted(now);
            grant(terms, outcome);
        }
    }

    private void answerNextOf(Terms terms, Object answer) {
        FairCall call = waiters.nextOf(terms);
        if (call != null) {
            answer(call, answer, WaitOutcome.DENIED);
        }
    }

    /** A call that would wait without end is denied only because the limiter's own queue is full, or its store is unavailable. */
    private void askLater(Decision denied, long now) {
        if (asks.isEmpty()) {
            long retry = denied.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
            askAgainAt = now + Math.max(MIN_RETRY_NANOS, Math.min(retry, MAX_RETRY_NANOS));
        } else {
            asks.denied();
        }
    }

    private void grant(Terms terms, Object granted) {
        for (FairCall call = waiters.nextOf(terms); call != null; call = waiters.nextOf(terms)) {
            boolean claimed = call.grant(granted);
            if (claimed) {
                waiters.serve(call);
            }
            remove(call, claimed);
            if (claimed) {
                return;
            }
        }
        giveBack(terms, granted);
    }

    private void ask(long now) {
        FairCall next = waiters.first();
        if (askAgainAt <= now || next == null) {
            askAgainAt = NEVER;
        }
        if (next == null) {
            asks.withdrawDownTo(0);
        } else if (askAgainAt == NEVER) {
            asks.adjust(next.terms, waiters.size(), waiters.isUniform());
        }
    }
}

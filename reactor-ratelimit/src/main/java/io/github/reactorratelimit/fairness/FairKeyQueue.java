package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.queue.KeyQueue;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.Waiter;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * The queue in front of one key of a limiter. Calls wait here; in the limiter's own queue wait this queue's {@link LimiterRequests},
 * which belong to no call. The call that leaves is chosen when a permit comes, from all that wait then: that makes
 * priorities and shares work, since the limiter itself grants in order of arrival.
 *
 * <h2>Why it is right</h2>
 *
 * <p><b>One owner.</b> {@link KeyQueue} lets one thread at a time handle calls that join or cancel, answers of the limiter and
 * the timer. It calls the limiter (an answer on the spot goes to the mailbox too, for the next round) but never a subscriber.
 *
 * <p><b>Never more than the limiter gave.</b> Only a grant answers a call with permits, a grant answers at most one call, and only
 * one that requests the same {@link RequestedPermits}: permits for a small call are never spent by a large one, and nothing is put together from
 * parts, which would be spent later than it was counted.
 *
 * <p><b>Nothing is lost.</b> Each grant has exactly one owner: the limiter until it answers, the mailbox, the drain loop, the
 * call once it is claimed. A claim fails if the subscriber cancelled first, and the next call is tried; if none
 * requests as much, the grant goes back. A subscriber that cancels between claim and delivery gives it back itself. A
 * withdrawn request is cancelled: the limiter gives back what it had reserved, and what it answered before is in the mailbox.
 *
 * <p><b>No call is forgotten.</b> After each round, if a call waits, there is a request in flight for the permits of the next call, or a
 * time at which to request again. Each answer brings another round.
 *
 * <p><b>Out of turn</b> a call is served only if costs differ, and another call became the next between a grant and its
 * handling: then the grant goes to the first call that requests as much, which was next when the grant was made. Virtual
 * time and the classes' accounts are kept for the call that was really served.
 */
final class FairKeyQueue extends KeyQueue<FairCall, FairQueue> implements LimiterRequest.Listener {

    /** When to request again if a denial did not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    private static final long MIN_RETRY_NANOS = Duration.ofMillis(1).toNanos();
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private static final long NEVER = Long.MAX_VALUE;

    private final RateLimiter limiter;
    private final Scheduler scheduler;
    private final QueueRuntime runtime;
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();

    /** The drain loop's, as are the fields below. */
    private final LimiterRequests requests;

    private final StoreAvailability availability;

    /** When to request again after a denial. */
    private long retryAt = NEVER;

    private record Answer(LimiterRequest request, Object content) {}

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
        this.requests = new LimiterRequests(limiter, key, ahead, now(), this);
        this.availability = new StoreAvailability(limiter, key);
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
    public void answered(LimiterRequest request, Object answer) {
        answers.offer(new Answer(request, answer));
        signal();
    }

    /** A call that waits until it is granted, denied or cancelled. */
    Mono<Object> await(FairCall.Request request) {
        return Waiter.mono(actual -> new FairCall(this, runtime, actual, request, this::giveBack));
    }

    /** For a grant that found no call. A store that cannot be reached counts what is lost. */
    private void giveBack(RequestedPermits permits, Object granted) {
        runtime.joined();
        permits.giveBack(limiter, granted).subscribe(done -> {}, failed -> runtime.departed(), runtime::departed);
    }

    @Override
    protected void admit(FairCall call, long now) {
        if (waiters.size() == 1) {
            availability.observe(null, now);
        }
        if (waiters.isOverfullBy(call)) {
            deny(call, now, NEVER);
        } else {
            watch(call);
        }
    }

    @Override
    protected void deny(FairCall call, long now, long grantedAt) {
        answer(call, call.requested.deny(limiter, availability.degradation()), WaitOutcome.DENIED);
    }

    @Override
    protected long serve(long now) {
        for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
            take(answer, now);
        }
        expire(now);
        request(now);
        if (impatient() == null) {
            return retryAt;
        }
        availability.peekIfSilent(now);
        return Math.min(retryAt, now + StoreAvailability.SILENCE_NANOS);
    }

    private void take(Answer answer, long now) {
        requests.ended(answer.request);
        RequestedPermits permits = answer.request.permits;
        Decision decision = RequestedPermits.decisionIn(answer.content);
        availability.observe(decision, now);
        if (decision != null && !decision.allowed()) {
            denied(permits, decision, now);
        } else if (answer.content instanceof RateLimiterClosedException gone) {
            failAll(gone);
            runtime.dispatchIfDisposed();
        } else if (answer.content instanceof Throwable failure) {
            answerNextOf(permits, failure);
        } else {
            requests.granted(now);
            grant(permits, answer.content);
        }
    }

    private void answerNextOf(RequestedPermits permits, Object answer) {
        FairCall call = waiters.nextOf(permits);
        if (call != null) {
            answer(call, answer, WaitOutcome.DENIED);
        }
    }

    /** A request without a maximum wait is denied only because the limiter's own queue is full, or its store is unavailable. */
    private void denied(RequestedPermits permits, Decision denied, long now) {
        if (denied.degraded() && denied.resetAfter().isEmpty()) {
            // By its failure mode the limiter does not wait for its store: what is left, and when, is not known.
            answerNextOf(permits, permits.denial(limiter, denied));
        } else if (requests.isEmpty()) {
            long retry = denied.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
            retryAt = now + Math.max(MIN_RETRY_NANOS, Math.min(retry, MAX_RETRY_NANOS));
        } else {
            requests.denied();
        }
    }

    private void grant(RequestedPermits permits, Object granted) {
        for (FairCall call = waiters.nextOf(permits); call != null; call = waiters.nextOf(permits)) {
            boolean claimed = call.grant(granted);
            if (claimed) {
                waiters.serve(call);
            }
            remove(call, claimed);
            if (claimed) {
                return;
            }
        }
        giveBack(permits, granted);
    }

    private void request(long now) {
        FairCall next = waiters.first();
        if (retryAt <= now || next == null) {
            retryAt = NEVER;
        }
        if (next == null) {
            requests.withdrawDownTo(0);
        } else if (retryAt == NEVER) {
            requests.adjust(next.requested, waiters.size(), waiters.isUniform());
        }
    }
}

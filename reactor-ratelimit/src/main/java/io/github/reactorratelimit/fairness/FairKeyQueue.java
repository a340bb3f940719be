package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.queue.KeyQueue;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.Waiter;
import java.time.Duration;
import java.util.function.BiConsumer;

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
final class FairKeyQueue extends KeyQueue<FairCall> {

    /** When to request again if a denial did not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    private static final long MIN_RETRY_NANOS = Duration.ofMillis(1).toNanos();
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private static final long NEVER = Long.MAX_VALUE;

    private final RateLimiter limiter;
    private final QueueRuntime runtime;
    private final BiConsumer<RequestedPermits, Object> giveBack;

    /** The drain loop's, as are the fields below. Which call is next. */
    private final FairQueue order;

    private final LimiterRequests requests;
    private final StoreAvailability availability;

    /** When to request again after a denial. */
    private long retryAt = NEVER;

    /** @param giveBack takes a grant that found no call */
    FairKeyQueue(
            QueueRuntime runtime,
            FairCall first,
            RateLimiter limiter,
            FairQueue order,
            Duration ahead,
            BiConsumer<RequestedPermits, Object> giveBack) {
        super(runtime, first);
        this.limiter = limiter;
        this.runtime = runtime;
        this.order = order;
        this.giveBack = giveBack;
        this.requests = new LimiterRequests(
                limiter, first.key(), ahead, first.now(), (request, answer) -> post(now -> take(request, answer, now)));
        this.availability = new StoreAvailability(limiter, first.key());
    }

    /** It stays as long as its share. */
    @Override
    protected boolean isBusy() {
        return true;
    }

    @Override
    protected void admit(Waiter<FairCall> newcomer, long now) {
        FairCall call = newcomer.request();
        call.waiter = newcomer;
        order.add(call);
        if (size() == 1) {
            availability.observe(null, now);
        }
        if (order.isOverfullBy(call)) {
            deny(newcomer, now, NEVER);
        } else {
            watch(newcomer);
        }
    }

    @Override
    protected void left(Waiter<FairCall> waiter, boolean granted) {
        order.remove(waiter.request(), granted);
    }

    @Override
    protected void deny(Waiter<FairCall> waiter, long now, long grantedAt) {
        RequestedPermits requested = waiter.request().requested;
        answer(waiter, requested.deny(limiter, availability.degradation()), WaitOutcome.DENIED);
    }

    @Override
    protected long serve(long now) {
        request(now);
        if (impatient() == null) {
            return retryAt;
        }
        availability.peekIfSilent(now);
        return Math.min(retryAt, now + StoreAvailability.SILENCE_NANOS);
    }

    private void take(LimiterRequests.Request request, Object answer, long now) {
        requests.ended(request);
        RequestedPermits permits = request.permits;
        Decision decision = RequestedPermits.decisionIn(answer);
        availability.observe(decision, now);
        if (decision != null && !decision.allowed()) {
            denied(permits, decision, now);
        } else if (answer instanceof RateLimiterClosedException gone) {
            failAll(gone);
            runtime.dispatch();
        } else if (answer instanceof Throwable failure) {
            answerNextOf(permits, failure, WaitOutcome.DENIED);
        } else {
            requests.granted(now);
            if (!answerNextOf(permits, answer, WaitOutcome.GRANTED)) {
                giveBack.accept(permits, answer);
            }
        }
    }

    /** Answers the next call that requests this; false if all of them have cancelled. */
    private boolean answerNextOf(RequestedPermits permits, Object answer, WaitOutcome outcome) {
        for (FairCall call = order.nextOf(permits); call != null; call = order.nextOf(permits)) {
            if (call.waiter != null && answer(call.waiter, answer, outcome)) {
                return true;
            }
        }
        return false;
    }

    /** A request without a maximum wait is denied only because the limiter's own queue is full, or its store is unavailable. */
    private void denied(RequestedPermits permits, Decision denied, long now) {
        if (denied.degraded() && denied.resetAfter().isEmpty()) {
            // By its failure mode the limiter does not wait for its store: what is left, and when, is not known.
            answerNextOf(permits, permits.denial(limiter, denied), WaitOutcome.DENIED);
        } else if (requests.isEmpty()) {
            long retry = denied.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
            retryAt = now + Math.max(MIN_RETRY_NANOS, Math.min(retry, MAX_RETRY_NANOS));
        } else {
            requests.denied();
        }
    }

    private void request(long now) {
        FairCall next = order.first();
        if (retryAt <= now || next == null) {
            retryAt = NEVER;
        }
        if (next == null) {
            requests.withdrawDownTo(0);
        } else if (retryAt == NEVER) {
            requests.adjust(next.requested, size(), order.isUniform());
        }
    }
}

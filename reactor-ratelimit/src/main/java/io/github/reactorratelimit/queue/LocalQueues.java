package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * The queues of one limiter whose state is in this process. A request that can be answered when it is made is answered
 * on its own thread and joins no queue.
 */
public final class LocalQueues extends KeyQueues<Waiter<Decision>, LocalQueue> {

    private final LateGrants lateGrants = new LateGrants();

    public LocalQueues(LimiterSettings settings) {
        super(settings);
    }

    /** Waits for permits of {@code key}. */
    public Mono<Decision> await(String key, QueuedKey state, long permits, long maxWaitNanos) {
        return new MonoWaiter<>(actual -> new LocalWaiter(actual, key, state, permits, maxWaitNanos, null));
    }

    /** An answer that needs no waiting, given on request. Its debit is refunded unless the answer is delivered. */
    public Mono<Decision> atOnce(QueuedKey state, Supplier<Decision> answer) {
        return new MonoWaiter<>(actual -> new LocalWaiter(actual, "", state, 0, 0, answer));
    }

    /** Debits a request that need not wait: at the due time if the last grant was late, else now. */
    public Decision debit(String key, QueuedKey state, long now, long permits) {
        Decision late = debitWhenDue(key, state, now, permits);
        return late == null ? state.debit(now, permits) : late;
    }

    /** Debits a request at its due time if the last grant of the key was late; null if not, and nothing is debited. */
    public @Nullable Decision debitWhenDue(String key, QueuedKey state, long now, long permits) {
        long at = lateGrants.debitTimeOfRequest(key, state, now);
        if (at == now) {
            return null;
        }
        Decision decision = state.debit(at, permits);
        if (!decision.allowed()) {
            return null;
        }
        lateGrants.delivered(key, state, at, permits, now);
        return decision;
    }

    /** False if {@link #debitWhenDue} would return null; costs next to nothing. */
    public boolean mayBeMadeUp(String key, long now) {
        return lateGrants.mayBeMadeUp(key, now);
    }

    /** When permits would be granted behind all waiters, {@link Algorithm#UNKNOWN} if that is not known. */
    public long grantedAt(String key, QueuedKey state, long now, long permits) {
        long notBefore = Math.max(now, state.pausedUntil());
        LocalQueue queue = queue(key);
        if (queue != null) {
            return queue.preview(notBefore, permits);
        }
        long wait = state.waitNanos(notBefore, permits);
        return wait == Algorithm.UNKNOWN ? wait : notBefore + wait;
    }

    /** Permits of the key came back: a waiter may be due. */
    public void permitsCameBack(String key) {
        LocalQueue queue = queue(key);
        if (queue != null) {
            queue.permitsCameBack();
        }
    }

    /** The key's pause, state or policy changed: its waiters are rescheduled by {@code state}. */
    public void replan(String key, QueuedKey state) {
        LocalQueue queue = queue(key);
        if (queue != null) {
            queue.reschedule(state);
        }
    }

    /** The key starts afresh: no lateness from before is made up. */
    public void reset(String key, QueuedKey state) {
        lateGrants.forget(key);
        LocalQueue queue = queue(key);
        if (queue != null) {
            queue.reset(state);
        }
    }

    /** The policy of any key may have changed: all waiters are rescheduled. */
    public void replanAll() {
        forEachQueue(LocalQueue::reschedule);
    }

    private final class LocalWaiter extends Waiter<Decision> {

        private final String key;
        private final QueuedKey state;
        private final @Nullable Supplier<Decision> atOnce;

        LocalWaiter(
                CoreSubscriber<? super Decision> actual,
                String key,
                QueuedKey state,
                long permits,
                long maxWaitNanos,
                @Nullable Supplier<Decision> atOnce) {
            super(runtime(), actual, permits, maxWaitNanos);
            this.key = key;
            this.state = state;
            this.atOnce = atOnce;
        }

        @Override
        protected void join() {
            if (isClosed()) {
                claim(runtime().closedException());
                return;
            }
            Decision answer = atOnce == null ? answerAtOnce() : atOnce.get();
            if (answer == null) {
                LocalQueues.this.join(
                        key, this, () -> new LocalQueue(runtime(), settings().maxWaiters(), state));
            } else if (!claim(answer)) {
                refund(answer);
            }
        }

        private @Nullable Decision answerAtOnce() {
            long now = state.now();
            arriveAt(now);
            if (now >= state.pausedUntil() && !hasWaiters(key)) {
                Decision decision = debit(key, state, now, permits());
                if (decision.allowed()) {
                    return decision;
                }
            }
            if (!hasDeadline()) {
                return null;
            }
            long grantedAt = grantedAt(key, state, now, permits());
            boolean tooLong = grantedAt != Algorithm.UNKNOWN && grantedAt > notAfter();
            return tooLong ? state.deny(now, permits(), grantedAt) : null;
        }

        @Override
        protected void leave() {
            LocalQueues.this.leave(key, this);
        }

        /** The next waiter's grant replaces the note of this one, so it is left out while there is one. */
        @Override
        protected void delivering(Decision delivered) {
            Debit debit = joined ? delivered.debit().orElse(null) : null;
            if (debit == null) {
                return;
            }
            if (!hasWaiters(key)) {
                lateGrants.delivered(key, state, debit.atTick(), debit.permits(), state.now());
            }
            RateLimitRecorder recorder = settings().recorder();
            if (dueAt != NOT_DUE && recorder != RateLimitRecorder.NOOP) {
                recorder.deliveredLate(Math.max(0, state.now() - dueAt));
            }
        }

        @Override
        protected void refund(Decision undelivered) {
            undelivered.debit().filter(Debit::claim).ifPresent(state::refund);
        }
    }
}

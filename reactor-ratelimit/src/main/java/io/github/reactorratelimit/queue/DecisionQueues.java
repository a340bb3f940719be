package io.github.reactorratelimit.queue;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/**
 * The queues of one limiter in which requests wait for permits.
 *
 * @param <K> the state of a key
 * @param <Q> the queue of a key
 */
public class DecisionQueues<K extends QueuedKey, Q extends KeyQueue<Waiter<Decision>, ?>>
        extends KeyQueues<Waiter<Decision>, Q> {

    private final BiFunction<QueueRuntime, K, Q> maker;

    /** @param maker makes the queue of a key when its first waiter joins */
    public DecisionQueues(LimiterSettings settings, BiFunction<QueueRuntime, K, Q> maker) {
        super(new QueueRuntime(settings.name(), settings.scheduler(), settings.callbacks(), settings.recorder()));
        this.maker = maker;
    }

    /** Waits for permits of a key. */
    public final Mono<Decision> await(String key, K state, long permits, long maxWaitNanos) {
        return Waiter.mono(actual -> new KeyWaiter(actual, key, state, permits, maxWaitNanos));
    }

    /** Answers a request that need not join the queue; null if it must. */
    @Nullable
    Decision answerAtOnce(String key, K state, Waiter<Decision> request) {
        return null;
    }

    /** Permits are delivered to a waiter. */
    void delivering(String key, K state, Debit debit) {}

    private final class KeyWaiter extends Waiter<Decision> {

        private final String key;
        private final K state;

        KeyWaiter(CoreSubscriber<? super Decision> actual, String key, K state, long permits, long maxWaitNanos) {
            super(runtime, actual, permits, maxWaitNanos);
            this.key = key;
            this.state = state;
        }

        @Override
        protected void join() {
            if (isClosed()) {
                claim(runtime.closedException());
                return;
            }
            arriveAt(state.now());
            Decision answer = answerAtOnce(key, state, this);
            if (answer == null) {
                DecisionQueues.this.join(key, this, () -> maker.apply(runtime, state));
            } else if (!claim(answer)) {
                refund(answer);
            }
        }

        @Override
        protected void leave() {
            DecisionQueues.this.leave(key, this);
        }

        @Override
        protected void delivering(Decision delivered) {
            Debit debit = hasJoined() ? delivered.debit().orElse(null) : null;
            if (debit != null) {
                DecisionQueues.this.delivering(key, state, debit);
                RateLimitRecorder recorder = runtime.recorder();
                if (dueAt != NOT_DUE && recorder != RateLimitRecorder.NOOP) {
                    recorder.deliveredLate(Math.max(0, state.now() - dueAt));
                }
            }
        }

        @Override
        protected void refund(Decision undelivered) {
            undelivered.debit().filter(Debit::claim).ifPresent(state::refund);
        }
    }
}

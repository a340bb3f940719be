package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BiConsumer;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;

/**
 * The requests of the queue in flight at its limiter. All request the same as the call that is next. So whichever is granted first fits the
 * call that is next then.
 *
 * <p>If all calls request the same, several requests are in flight: permits come one after the other although each takes a round trip.
 * There are as many as were granted lately in the time that may be requested ahead, and one more: what is requested ahead may be reserved
 * ahead, and keeps other processes away. If calls differ, only one is in flight: a second one would be for the second call, which may not be
 * the second any more. The window is adjusted once in that time and doubles at most, so that a burst does not widen it.
 *
 * <p>Owned by the drain loop of the queue.
 */
final class LimiterRequests {

    private static final int MIN_WINDOW = 2;
    private static final int MAX_WINDOW = 256;
    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);

    private final RateLimiter limiter;
    private final String key;
    private final BiConsumer<Request, Object> answered;
    private final long aheadNanos;
    private final Deque<Request> inFlight = new ArrayDeque<>();

    /** How many may be in flight. */
    private int window = MIN_WINDOW;

    /** Grants since the window was adjusted. */
    private long granted;

    private long since;

    /** @param answered gets each answer, once, on any thread: what was granted, a denied decision, or an error */
    LimiterRequests(RateLimiter limiter, String key, Duration ahead, long now, BiConsumer<Request, Object> answered) {
        this.limiter = limiter;
        this.key = key;
        this.aheadNanos = ahead.toNanos();
        this.since = now;
        this.answered = answered;
    }

    boolean isEmpty() {
        return inFlight.isEmpty();
    }

    /** It was answered, or withdrawn before. */
    void ended(Request request) {
        inFlight.remove(request);
    }

    void granted(long now) {
        granted++;
        long elapsed = now - since;
        if (elapsed >= aheadNanos) {
            long inThatTime = (granted * aheadNanos + elapsed - 1) / elapsed;
            window = (int) Math.min(MAX_WINDOW, Math.min(2L * window, inThatTime + 1));
            granted = 0;
            since = now;
        }
    }

    /** The limiter's own queue is full: the requests in flight must do for a while. */
    void denied() {
        window = Math.max(1, inFlight.size());
    }

    /** Requests these permits as often as makes sense for this number of calls, and nothing else. */
    void adjust(RequestedPermits permits, int calls, boolean uniform) {
        if (!inFlight.isEmpty() && !inFlight.getFirst().permits.equals(permits)) {
            withdrawDownTo(0);
        }
        if (!uniform) {
            window = 1;
        }
        int wanted = Math.min(calls, Math.min(window, roomFor(permits)));
        withdrawDownTo(wanted);
        while (inFlight.size() < wanted) {
            request(permits);
        }
    }

    /** A queueing bucket denies what its queue cannot hold. */
    private int roomFor(RequestedPermits permits) {
        return (int) Math.max(1, Math.min(window, limiter.policy().queueCapacity() / permits.permits()));
    }

    /** The last first: those before it are granted earlier. */
    void withdrawDownTo(int count) {
        while (inFlight.size() > count) {
            inFlight.removeLast().cancel();
        }
    }

    private void request(RequestedPermits permits) {
        Request request = new Request(permits);
        inFlight.add(request);
        Mono.<Object>defer(() -> permits.request(limiter, key, UNBOUNDED)).subscribe(request);
    }

    /**
     * One request of the queue to its limiter. It belongs to no call. Cancelling leaves the limiter's queue; the limiter refunds what it
     * granted and has not delivered.
     */
    final class Request extends BaseSubscriber<Object> {

        final RequestedPermits permits;

        /** Of the thread that signals. */
        private boolean isAnswered;

        private Request(RequestedPermits permits) {
            this.permits = permits;
        }

        /** A grant that comes although the request was cancelled still belongs to the queue. */
        @Override
        protected void hookOnNext(Object answer) {
            answer(answer);
        }

        @Override
        protected void hookOnError(Throwable failure) {
            answer(failure);
        }

        @Override
        protected void hookOnComplete() {
            answer(new IllegalStateException("the limiter gave no answer"));
        }

        private void answer(Object answer) {
            if (!isAnswered) {
                isAnswered = true;
                answered.accept(this, answer);
            }
        }
    }
}

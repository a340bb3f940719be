package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
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
    private final LimiterRequest.Listener listener;
    private final long aheadNanos;
    private final Deque<LimiterRequest> inFlight = new ArrayDeque<>();

    /** How many may be in flight. */
    private int window = MIN_WINDOW;

    /** Grants since the window was adjusted. */
    private long granted;

    private long since;

    LimiterRequests(RateLimiter limiter, String key, Duration ahead, long now, LimiterRequest.Listener listener) {
        this.limiter = limiter;
        this.key = key;
        this.aheadNanos = ahead.toNanos();
        this.since = now;
        this.listener = listener;
    }

    boolean isEmpty() {
        return inFlight.isEmpty();
    }

    /** It was answered, or withdrawn before. */
    void ended(LimiterRequest request) {
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
        LimiterRequest request = new LimiterRequest(listener, permits);
        inFlight.add(request);
        Mono.<Object>defer(() -> permits.request(limiter, key, UNBOUNDED)).subscribe(request);
    }
}

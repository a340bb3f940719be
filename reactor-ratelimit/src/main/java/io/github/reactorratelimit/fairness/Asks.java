package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import reactor.core.publisher.Mono;

/**
 * What the line has asked its limiter for and not been told yet. All of it is on the same {@link Terms}, those of the call
 * that is next: so whichever is granted first fits whoever is next then.
 *
 * <p>Where everybody asks for the same, several are under way: permits come one after the other although each takes a round trip, or a
 * thread, to be heard of. No more than were granted lately in the time that may be asked ahead, and one: what is asked for ahead may be
 * booked ahead, and keeps others away. Where they do not ask for the same only one is: a second one would be for the second in turn, who
 * may not be that any more. The window is looked at once in that time and doubles at most, so that a burst does not widen
 * it, and what is withdrawn when the terms change is seldom much.
 *
 * <p>Owned by the line's drain loop.
 */
final class Asks {

    private static final int MIN_WINDOW = 2;
    private static final int MAX_WINDOW = 256;
    private static final Duration HOWEVER_LONG = Duration.ofNanos(Long.MAX_VALUE);

    private final RateLimiter limiter;
    private final String key;
    private final Ask.Listener listener;
    private final long aheadNanos;
    private final Deque<Ask> underWay = new ArrayDeque<>();

    /** How many may be under way. */
    private int window = MIN_WINDOW;

    /** Grants since the window was looked at. */
    private long granted;

    private long since;

    Asks(RateLimiter limiter, String key, Duration ahead, long now, Ask.Listener listener) {
        this.limiter = limiter;
        this.key = key;
        this.aheadNanos = ahead.toNanos();
        this.since = now;
        this.listener = listener;
    }

    boolean isEmpty() {
        return underWay.isEmpty();
    }

    /** It was answered, or withdrawn before. */
    void ended(Ask ask) {
        underWay.remove(ask);
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

    /** The limiter's own line is full: then the others must do for a while. */
    void denied() {
        window = Math.max(1, underWay.size());
    }

    /** Asks for these terms as often as makes sense for so many calls, and for nothing else. */
    void adjust(Terms terms, int calls, boolean uniform) {
        if (!underWay.isEmpty() && !underWay.getFirst().terms.equals(terms)) {
            withdrawDownTo(0);
        }
        if (!uniform) {
            window = 1;
        }
        int wanted = Math.min(calls, Math.min(window, roomFor(terms)));
        withdrawDownTo(wanted);
        while (underWay.size() < wanted) {
            ask(terms);
        }
    }

    /** A queueing bucket denies what its queue cannot hold. */
    private int roomFor(Terms terms) {
        return (int) Math.max(1, Math.min(window, limiter.policy().queueCapacity() / terms.permits()));
    }

    /** The last first: those before it are nearer to their turn. */
    void withdrawDownTo(int count) {
        while (underWay.size() > count) {
            underWay.removeLast().withdraw();
        }
    }

    private void ask(Terms terms) {
        Ask ask = new Ask(listener, terms);
        underWay.add(ask);
        Mono.defer(() -> terms.kind().ask(limiter, key, terms.permits(), HOWEVER_LONG))
                .subscribe(ask);
    }
}

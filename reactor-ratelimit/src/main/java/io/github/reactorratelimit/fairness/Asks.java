package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import reactor.core.publisher.Mono;

/**
 * What the line has asked its limiter for and not been told yet. All of it is on the same {@link Terms}, those of the call
 * that is next: so whichever is granted first fits whoever is next then.
 *
 * <p>Where everybody asks for the same, several are under way, up to the window: permits come one after the other although each
 * takes a round trip, or a thread, to be heard of. Where they do not, only one is: a second one would be for the
 * second in turn, who may not be that any more. When the terms change, what was asked for is withdrawn, and the window opens again by one
 * with each grant: what is withdrawn was paid for by as many grants.
 *
 * <p>Owned by the line's drain loop.
 */
final class Asks {

    private static final Duration HOWEVER_LONG = Duration.ofNanos(Long.MAX_VALUE);

    private final RateLimiter limiter;
    private final String key;
    private final Ask.Listener listener;
    private final int window;
    private final Deque<Ask> underWay = new ArrayDeque<>();
    private int opening;

    Asks(RateLimiter limiter, String key, int window, Ask.Listener listener) {
        this.limiter = limiter;
        this.key = key;
        this.window = window;
        this.listener = listener;
        this.opening = window;
    }

    boolean isEmpty() {
        return underWay.isEmpty();
    }

    /** It was answered, or withdrawn before. */
    void ended(Ask ask) {
        underWay.remove(ask);
    }

    void granted() {
        opening = Math.min(window, opening + 1);
    }

    /** The limiter's own line is full: then the others must do for a while. */
    void denied() {
        opening = Math.max(1, underWay.size());
    }

    /** Asks for these terms as often as makes sense for so many calls, and for nothing else. */
    void adjust(Terms terms, int calls, boolean uniform) {
        if (!underWay.isEmpty() && !underWay.getFirst().terms.equals(terms)) {
            withdrawDownTo(0);
        }
        if (!uniform) {
            opening = 1;
        }
        int wanted = Math.min(calls, Math.min(opening, roomFor(terms)));
        withdrawDownTo(wanted);
        while (underWay.size() < wanted) {
            ask(terms);
        }
    }

    /** A queueing bucket denies what its queue cannot hold. */
    private int roomFor(Terms terms) {
        return limiter.policy() instanceof LeakyBucket bucket
                ? (int) Math.max(1, Math.min(window, bucket.queueCapacity() / terms.permits()))
                : window;
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

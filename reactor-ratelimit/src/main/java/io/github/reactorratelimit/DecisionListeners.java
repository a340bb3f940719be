package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The listeners of a limiter's decisions: its recorder, its key recorder and its shadow. No request waits for
 * them or fails with them.
 */
final class DecisionListeners {

    private static final Logger LOG = Loggers.getLogger(KeyRecorder.class);

    private final RateLimitRecorder recorder;
    private final @Nullable KeyRecorder keys;
    private final @Nullable Shadow shadow;
    private final AtomicBoolean warned = new AtomicBoolean();

    DecisionListeners(RateLimitRecorder recorder, @Nullable KeyRecorder keys, @Nullable Shadow shadow) {
        this.recorder = recorder;
        this.keys = keys;
        this.shadow = shadow;
    }

    /** Whether there are none. */
    boolean isEmpty() {
        return recorder == RateLimitRecorder.NOOP && keys == null && shadow == null;
    }

    boolean hasShadow() {
        return shadow != null;
    }

    RateLimitRecorder recorder() {
        return recorder;
    }

    /** A request was decided on the fast path. With a shadow its permits are spent for good. */
    void decidedNow(String key, boolean allowed, long permits) {
        decided(key, allowed, permits);
        if (shadow != null) {
            shadow.request(key, permits);
        }
    }

    void decided(String key, boolean allowed, long permits) {
        recorder.decided(allowed, permits);
        if (keys != null) {
            try {
                keys.decided(key, allowed, permits);
            } catch (RuntimeException broken) {
                if (warned.compareAndSet(false, true)) {
                    LOG.warn("a key recorder failed; what it counts is wrong from here on", broken);
                }
            }
        }
    }

    /**
     * A request together with others was decided.
     *
     * @param kept false if another was denied: then nothing was taken
     */
    void decidedTogether(String key, Decision decision, boolean kept) {
        boolean counts = kept || !decision.allowed();
        if (shadow != null) {
            Mono<Decision> shadowed = shadow.request(key, decision.permits());
            if (counts) {
                shadow.refundWith(decision, shadowed);
            } else {
                shadow.refund(shadowed, decision.permits());
            }
        }
        if (counts) {
            decided(key, decision.allowed(), decision.permits());
        }
    }

    /** The request, with its decision passed to the listeners. */
    Mono<Decision> listen(LimiterState live, String key, long permits, Mono<Decision> request) {
        Mono<Decision> heard = request.doOnNext(decision -> decided(key, decision.allowed(), permits));
        return shadow == null || live.isClosed() ? heard : shadow.beside(heard, key, permits);
    }

    /** A change of the live state that the shadow makes too. */
    <T> Mono<T> alongside(Mono<T> live, Function<LimiterState, Mono<?>> change) {
        Shadow beside = shadow;
        return beside == null
                ? live
                : Mono.defer(() -> {
                    beside.follow(change);
                    return live;
                });
    }

    /** A key is charged without a request. */
    void charged(String key, long permits, long maxDebt) {
        if (shadow != null) {
            shadow.charge(key, permits, maxDebt);
        }
    }

    Mono<Void> close(Mono<Void> live) {
        return shadow == null ? live : Mono.whenDelayError(live, shadow.close());
    }
}

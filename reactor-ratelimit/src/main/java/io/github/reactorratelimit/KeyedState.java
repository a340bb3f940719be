package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/** A live state whose decisions are told to a {@link KeyRecorder}, whose failures harm nobody. */
final class KeyedState extends WrappedState {

    private static final Logger LOG = Loggers.getLogger(KeyRecorder.class);

    private final KeyRecorder keys;
    private final AtomicBoolean warned = new AtomicBoolean();

    KeyedState(LimiterState live, KeyRecorder keys) {
        super(live);
        this.keys = keys;
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        boolean allowed = live.tryAcquireNow(key, policy, permits);
        if (allowed) {
            tell(key, true, permits);
        }
        return allowed;
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        Verdict verdict = live.decideNow(key, policy, permits);
        if (verdict != Verdict.UNKNOWN) {
            tell(key, verdict == Verdict.TAKEN, permits);
        }
        return verdict;
    }

    @Override
    public PermitRun run(String key, RateLimitPolicy policy, long permits) {
        return new ToldRun(live.run(key, policy, permits), () -> tell(key, true, permits));
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return live.evaluate(key, policy, permits).doOnNext(decision -> tell(key, decision.allowed(), permits));
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return live.await(key, policy, permits, maxWaitNanos)
                .doOnNext(decision -> tell(key, decision.allowed(), permits));
    }

    @Override
    void answeredTogether(JointState.Take take, Decision decision, boolean kept) {
        if (kept || !decision.allowed()) {
            tell(take.key(), decision.allowed(), take.permits());
        }
    }

    private void tell(String key, boolean allowed, long permits) {
        try {
            keys.decided(key, allowed, permits);
        } catch (RuntimeException broken) {
            if (warned.compareAndSet(false, true)) {
                LOG.warn("a key recorder failed; what it counts is wrong from here on", broken);
            }
        }
    }
}

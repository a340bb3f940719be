package io.github.reactorratelimit;

import io.github.reactorratelimit.AuditedKey.Ask;
import io.github.reactorratelimit.AuditedKey.Outcome;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A live state of which some keys are audited. */
final class AuditedState extends WrappedState {

    /** The most elements for which a {@link PermitRun} takes permits ahead. */
    private static final long MOST_AHEAD = 64;

    private final AuditedKeys keys;

    AuditedState(LimiterState live, AuditedKeys keys) {
        super(live);
        this.keys = keys;
    }

    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        Ask ask = keys.begin(key, policy, permits, permits);
        if (ask == null) {
            return live.tryAcquireNow(key, policy, permits);
        }
        Outcome outcome = Outcome.UNKNOWN;
        try {
            boolean allowed = live.tryAcquireNow(key, policy, permits);
            outcome = allowed ? Outcome.ALLOWED : Outcome.NOTHING;
            return allowed;
        } finally {
            ask.end(outcome);
        }
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy policy, long permits) {
        Ask ask = keys.begin(key, policy, permits, permits);
        if (ask == null) {
            return live.decideNow(key, policy, permits);
        }
        Outcome outcome = Outcome.UNKNOWN;
        try {
            Verdict verdict = live.decideNow(key, policy, permits);
            outcome = verdict == Verdict.UNKNOWN
                    ? Outcome.NOTHING
                    : verdict == Verdict.TAKEN ? Outcome.ALLOWED : Outcome.DENIED;
            return verdict;
        } finally {
            ask.end(outcome);
        }
    }

    @Override
    public PermitRun run(String key, RateLimitPolicy policy, long permits) {
        PermitRun run = live.run(key, policy, permits);
        return keys.isSampled(key) ? new AuditedRun(run, key, policy, permits) : run;
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return audited(key, policy, permits, live.evaluate(key, policy, permits));
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return audited(key, policy, permits, live.await(key, policy, permits, maxWaitNanos));
    }

    private Mono<Decision> audited(String key, RateLimitPolicy policy, long permits, Mono<Decision> request) {
        return Mono.defer(() -> {
            Ask ask = keys.begin(key, policy, permits, permits);
            return ask == null
                    ? request
                    : request.doOnNext(decision -> ask.end(decision.allowed() ? Outcome.ALLOWED : Outcome.DENIED))
                            .doFinally(unanswered -> ask.end(Outcome.UNKNOWN));
        });
    }

    /** Only a store that others use too answers together; what is missing here excuses it, and never accuses it. */
    @Override
    void answeredTogether(JointState.Take take, Decision decision, boolean kept) {}

    @Override
    public Mono<Void> refund(Debit debit) {
        return Mono.defer(() -> {
            keys.cameBack(debit);
            return live.refund(debit);
        });
    }

    @Override
    public Mono<Long> charge(String key, RateLimitPolicy policy, long permits, long maxDebt) {
        return Mono.defer(() -> {
            Ask ask = keys.begin(key, policy, permits, permits);
            Mono<Long> charged = live.charge(key, policy, permits, maxDebt);
            return ask == null ? charged : charged.doFinally(over -> ask.end(Outcome.CHARGED));
        });
    }

    @Override
    public Mono<Void> reset(String key, RateLimitPolicy policy) {
        return changing(key, Outcome.CHANGED, 0, live.reset(key, policy));
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return changing(key, Outcome.CHANGED, Nanos.ofWait("duration", duration), live.pause(key, policy, duration));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, RateLimitPolicy policy, Duration duration) {
        Mono<Void> paused = live.pauseAtLeast(key, policy, duration);
        return changing(key, Outcome.CHANGED, Nanos.ofWait("duration", duration), paused);
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return changing(key, Outcome.RULED_ANEW, 0, live.carry(key, from, to));
    }

    @Override
    public Mono<Void> changePolicy(String key, RateLimitPolicy named, RateLimitPolicy to) {
        return changing(key, Outcome.RULED_ANEW, 0, live.changePolicy(key, named, to));
    }

    @Override
    public Mono<Void> restorePolicy(String key, RateLimitPolicy named) {
        return changing(key, Outcome.RULED_ANEW, 0, live.restorePolicy(key, named));
    }

    /** What failed or was given up may still happen, at any time: from then on nothing is said about the key. */
    private Mono<Void> changing(String key, Outcome how, long pauseNanos, Mono<Void> change) {
        return Mono.defer(() -> {
            Ask ask = keys.beginChange(key);
            return ask == null
                    ? change
                    : change.doOnSuccess(done -> ask.end(how, pauseNanos)).doFinally(unsure -> ask.end(Outcome.UNSURE));
        });
    }

    @Override
    public void whenRuledAnew(Consumer<RateLimitPolicy> listener) {
        live.whenRuledAnew(policy -> {
            keys.ruledAnew();
            listener.accept(policy);
        });
    }

    /** A run is open from its first element to its end: what it took ahead was taken in between. */
    private final class AuditedRun implements PermitRun {

        private final PermitRun actual;
        private final String key;
        private final RateLimitPolicy policy;
        private final long permits;
        private @Nullable Ask ask;

        AuditedRun(PermitRun actual, String key, RateLimitPolicy policy, long permits) {
            this.actual = actual;
            this.key = key;
            this.policy = policy;
            this.permits = permits;
        }

        @Override
        public boolean tryNext(long most) {
            if (ask == null) {
                ask = keys.begin(key, policy, permits, MOST_AHEAD * permits);
            }
            boolean allowed = actual.tryNext(most);
            if (allowed && ask != null) {
                ask.given();
            }
            return allowed;
        }

        @Override
        public void end() {
            actual.end();
            if (ask != null) {
                ask.end(Outcome.NOTHING);
                ask = null;
            }
        }
    }
}

package io.github.reactorratelimit;

import java.time.Duration;
import reactor.core.publisher.Mono;

/**
 * A live state with a shadow beside it: every request is asked of both, and only the live one's answer counts. The
 * shadow's is told to the recorder. Whatever happens to the shadow, the live request is neither delayed nor denied nor
 * failed: it waits for no answer of the shadow's.
 *
 * <p>The shadow sees what it would see if it ruled alone: requests that the live policy denies too, and resets, pauses
 * and refunds. A request that may wait is asked of it when it arrives, and not to wait.
 */
final class ShadowedState extends WrappedState {

    private final LimiterState shadow;
    private final RateLimitPolicy policy;
    private final RateLimitRecorder recorder;

    /** @param policy the shadow's, for all keys */
    ShadowedState(LimiterState live, LimiterState shadow, RateLimitPolicy policy, RateLimitRecorder recorder) {
        super(live);
        this.shadow = shadow;
        this.policy = policy;
        this.recorder = recorder;
    }

    /** What {@code false} means is asked of {@link #evaluate} or {@link #await}, and counted there. */
    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy livePolicy, long permits) {
        boolean allowed = live.tryAcquireNow(key, livePolicy, permits);
        if (allowed) {
            askForGood(key, permits);
        }
        return allowed;
    }

    @Override
    public Verdict decideNow(String key, RateLimitPolicy livePolicy, long permits) {
        Verdict verdict = live.decideNow(key, livePolicy, permits);
        if (verdict != Verdict.UNKNOWN) {
            askForGood(key, permits);
        }
        return verdict;
    }

    @Override
    public PermitRun run(String key, RateLimitPolicy livePolicy, long permits) {
        return new ToldRun(live.run(key, livePolicy, permits), () -> askForGood(key, permits));
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy livePolicy, long permits) {
        return following(key, permits, live.evaluate(key, livePolicy, permits));
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy livePolicy, long permits, long maxWaitNanos) {
        return following(key, permits, live.await(key, livePolicy, permits, maxWaitNanos));
    }

    /** The shadow is asked first: whoever is answered may ask again at once, and must not overtake itself. */
    private Mono<Decision> following(String key, long permits, Mono<Decision> request) {
        return Mono.defer(() -> {
            if (live.isClosed()) {
                return request;
            }
            ShadowAsk ask = ask(key, permits);
            return request.doOnNext(ask::follow).doOnCancel(ask::leave);
        });
    }

    @Override
    void answeredTogether(JointState.Take take, Decision decision, boolean kept) {
        ShadowAsk ask = ask(take.key(), take.permits());
        if (kept || !decision.allowed()) {
            ask.follow(decision);
        } else {
            ask.leave();
        }
    }

    private ShadowAsk ask(String key, long permits) {
        ShadowAsk ask = new ShadowAsk(shadow, recorder);
        if (permits > policy.capacity()) {
            recorder.shadowDecided(false, permits);
        } else {
            Mono.defer(() -> shadow.evaluate(key, policy, permits))
                    .subscribe(ask::answered, failure -> recorder.shadowFailed());
        }
        return ask;
    }

    /** For requests that cannot be given back: without an object for them, where the shadow can answer at once. */
    private void askForGood(String key, long permits) {
        if (permits > policy.capacity()) {
            recorder.shadowDecided(false, permits);
            return;
        }
        try {
            Verdict verdict = shadow.decideNow(key, policy, permits);
            if (verdict == Verdict.UNKNOWN) {
                ask(key, permits);
            } else {
                recorder.shadowDecided(verdict == Verdict.TAKEN, permits);
            }
        } catch (RuntimeException failure) {
            recorder.shadowFailed();
        }
    }

    /** A lease that is released is no refund: what a rate gave out stays spent when the work is done. */
    @Override
    public Mono<Void> refund(Debit debit) {
        ShadowAsk ask = debit.shadow();
        return ask == null || debit.policy() instanceof ConcurrencyLimit
                ? live.refund(debit)
                : alongside(Mono.fromRunnable(() -> ask.giveBack(debit.permits())), live.refund(debit));
    }

    @Override
    public Mono<Void> reset(String key, RateLimitPolicy livePolicy) {
        return alongside(Mono.defer(() -> shadow.reset(key, policy)), live.reset(key, livePolicy));
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy livePolicy, Duration duration) {
        return alongside(Mono.defer(() -> shadow.pause(key, policy, duration)), live.pause(key, livePolicy, duration));
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, RateLimitPolicy livePolicy, Duration duration) {
        return alongside(
                Mono.defer(() -> shadow.pauseAtLeast(key, policy, duration)),
                live.pauseAtLeast(key, livePolicy, duration));
    }

    /** The shadow may owe as much of its own capacity as it is charged with: what it would deny is what counts. */
    @Override
    public Mono<Long> charge(String key, RateLimitPolicy livePolicy, long permits, long maxDebt) {
        Mono<Long> charged = live.charge(key, livePolicy, permits, maxDebt);
        return policy.settles()
                ? alongside(Mono.defer(() -> shadow.charge(key, policy, permits, maxDebt)), charged)
                : charged;
    }

    private <T> Mono<T> alongside(Mono<?> ofShadow, Mono<T> ofLive) {
        return Mono.defer(() -> {
            ofShadow.subscribe(done -> {}, failure -> recorder.shadowFailed());
            return ofLive;
        });
    }

    @Override
    public Mono<Void> close() {
        return Mono.whenDelayError(live.close(), shadow.close().onErrorComplete());
    }
}

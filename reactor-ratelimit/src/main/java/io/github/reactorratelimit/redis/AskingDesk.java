package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.queue.Pauses;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;

/** One key under a policy without slots, as its line sees it: the first in line asks, and asks again. */
final class AskingDesk implements RetryingKey {

    private final RedisState state;
    private final String key;
    private final RateLimitPolicy policy;
    private volatile long pausedUntil = Pauses.NOT_PAUSED;

    AskingDesk(RedisState state, String key, RateLimitPolicy policy) {
        this.state = state;
        this.key = key;
        this.policy = policy;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return state.now();
    }

    @Override
    public long pausedUntil() {
        return pausedUntil;
    }

    @Override
    public long queueCapacity() {
        return state.calls().ruled(policy).queueCapacity();
    }

    @Override
    public Mono<Decision> request(long permits) {
        Decision leased = state.shortcuts().spend(key, policy, permits);
        return leased == null ? take(Ask.take(permits)) : Mono.just(leased);
    }

    private Mono<Decision> take(Ask ask) {
        Mono<Decision> decided = state.calls()
                .ask(key, policy, ask)
                .doOnNext(answered -> learn(answered.key()))
                .map(answered -> RedisCalls.decision(state, key, ask, answered));
        return state.orLocal(decided, () -> state.unavailability().decide(key, policy, ask.permits()));
    }

    private void learn(ScriptReply.KeyStatus status) {
        long micros = status.pausedUntilMicros() - status.nowMicros();
        pausedUntil = micros > 0 ? now() + TimeUnit.MICROSECONDS.toNanos(micros) : Pauses.NOT_PAUSED;
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit).subscribe(done -> {}, counted -> {});
    }

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        return state.calls().denyUnasked(policy, permits, QueuedKey.retryAfter(now, grantedAt));
    }
}

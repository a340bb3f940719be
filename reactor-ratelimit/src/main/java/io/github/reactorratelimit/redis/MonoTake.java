package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;

/** Takes for each subscriber, when it requests. */
final class MonoTake extends Mono<Decision> implements Scannable {

    private final RedisState state;
    private final String key;
    private final RateLimitPolicy policy;
    private final long permits;

    MonoTake(RedisState state, String key, RateLimitPolicy policy, long permits) {
        this.state = state;
        this.key = key;
        this.policy = policy;
        this.permits = permits;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Decision> actual) {
        actual.onSubscribe(new TakeAsk(state, key, policy, permits, actual));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }
}

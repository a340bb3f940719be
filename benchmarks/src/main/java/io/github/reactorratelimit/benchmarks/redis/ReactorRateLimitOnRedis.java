package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** This library: {@code tryAcquire}, subscribed for each decision. A degraded decision fails the run. */
final class ReactorRateLimitOnRedis implements RedisLimiter {

    private final StatefulRedisConnection<String, String> connection;
    private final RateLimiter limiter;
    private final String[] keys;

    private ReactorRateLimitOnRedis(
            StatefulRedisConnection<String, String> connection, RateLimiter limiter, String[] keys) {
        this.connection = connection;
        this.limiter = limiter;
        this.keys = keys;
    }

    static Opener with(UnaryOperator<RedisStore> options) {
        return with(limit -> TokenBucket.perSecond(limit.permits()).withBurst(limit.burst()), options);
    }

    static Opener with(Function<BucketSize, RateLimitPolicy> policy, UnaryOperator<RedisStore> options) {
        return (client, uri, keys, limit) -> {
            StatefulRedisConnection<String, String> connection = client.connect();
            RedisStore store = RedisStore.of(connection).withoutSelfTest().withDeadline(DEADLINE);
            RateLimiter limiter = RateLimiter.builder(policy.apply(limit))
                    .name("benchmark")
                    .store(options.apply(store))
                    .build();
            return new ReactorRateLimitOnRedis(connection, limiter, keys);
        };
    }

    @Override
    public void tryAcquire(int key, Receiver receiver) {
        limiter.tryAcquire(keys[key]).subscribe(new DecisionSubscriber(receiver));
    }

    @Override
    public void close() {
        limiter.close().block(DEADLINE);
        connection.close();
    }

    private record DecisionSubscriber(Receiver receiver) implements CoreSubscriber<Decision> {

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Decision decision) {
            if (decision.degraded()) {
                receiver.failed(new IllegalStateException("decided without Redis: " + decision));
            } else {
                receiver.decided(decision.allowed());
            }
        }

        @Override
        public void onError(Throwable error) {
            receiver.failed(error);
        }

        @Override
        public void onComplete() {}
    }
}

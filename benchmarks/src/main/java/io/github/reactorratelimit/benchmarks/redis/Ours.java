package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisStore;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.function.UnaryOperator;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;

/** This library: {@code tryAcquire}, subscribed for each ask. A degraded decision fails the run. */
final class Ours implements Target {

    private final StatefulRedisConnection<String, String> connection;
    private final RateLimiter limiter;
    private final String[] keys;

    private Ours(StatefulRedisConnection<String, String> connection, RateLimiter limiter, String[] keys) {
        this.connection = connection;
        this.limiter = limiter;
        this.keys = keys;
    }

    static Opener with(UnaryOperator<RedisStore> options) {
        return (bench, name, keys, limit) -> {
            StatefulRedisConnection<String, String> connection = bench.client().connect();
            RedisStore store = RedisStore.of(connection).withoutSelfTest().withDeadline(RedisBench.PATIENCE);
            RateLimiter limiter = RateLimiter.builder(limit.policy())
                    .name(name)
                    .store(options.apply(store))
                    .build();
            return new Ours(connection, limiter, Names.of(keys));
        };
    }

    @Override
    public void ask(int key, long permits, Answer answer) {
        limiter.tryAcquire(keys[key], permits).subscribe(new Asker(answer));
    }

    @Override
    public void close() {
        limiter.close().block(RedisBench.PATIENCE);
        connection.close();
    }

    private static final class Asker implements CoreSubscriber<Decision> {

        private final Answer answer;

        Asker(Answer answer) {
            this.answer = answer;
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Decision decision) {
            if (decision.degraded()) {
                answer.failed(new IllegalStateException("made without Redis: " + decision));
            } else {
                answer.decided(decision.allowed());
            }
        }

        @Override
        public void onError(Throwable error) {
            answer.failed(error);
        }

        @Override
        public void onComplete() {}
    }
}

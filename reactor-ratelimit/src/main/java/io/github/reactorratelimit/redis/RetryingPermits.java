package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A key under a policy without slots, as its queue sees it: the head requests permits, and requests them
 * again.
 */
final class RetryingPermits implements RetryingKey {

    private final RedisPermits permits;
    private final String key;
    private final @Nullable RateLimitPolicy override;
    private volatile long pausedUntil = KeyQueues.NOT_PAUSED;

    RetryingPermits(RedisPermits permits, String key, @Nullable RateLimitPolicy override) {
        this.permits = permits;
        this.key = key;
        this.override = override;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return permits.now();
    }

    @Override
    public long pausedUntil() {
        return pausedUntil;
    }

    @Override
    public long queueCapacity() {
        return permits.policy(override).queueCapacity();
    }

    @Override
    public Mono<Decision> request(long count) {
        Decision prepaid = permits.spendPrepaid(key, override, count);
        return prepaid == null
                ? permits.acquireForWaiter(key, override, count, reply -> learn(reply.key()))
                : Mono.just(prepaid);
    }

    private void learn(CommandReply.KeyStatus status) {
        long micros = status.pauseEndMicros() - status.nowMicros();
        pausedUntil = micros > 0 ? now() + TimeUnit.MICROSECONDS.toNanos(micros) : KeyQueues.NOT_PAUSED;
    }

    @Override
    public void refund(Debit debit) {
        permits.refundAside(debit);
    }

    @Override
    public Decision deny(long now, long count, long grantedAt) {
        return permits.deny(override, count, QueuedKey.retryAfter(now, grantedAt));
    }
}

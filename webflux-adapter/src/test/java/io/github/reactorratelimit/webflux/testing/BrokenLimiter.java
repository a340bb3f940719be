package io.github.reactorratelimit.webflux.testing;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A limiter that always gives the same answer, whatever it is asked. */
public record BrokenLimiter(RateLimitPolicy policy, Mono<Decision> answer) implements RateLimiter {

    /** What a store that holds garbage says. */
    public static final class Failure extends RateLimitException {
        public Failure() {
            super("garbage");
        }
    }

    /** Answers as a limiter does whose store is away, in the mode that denies. */
    public static BrokenLimiter closed(RateLimitPolicy policy, Duration retryAfter) {
        Decision denied = Decision.deny(policy, 1, retryAfter.toNanos());
        return new BrokenLimiter(policy, Mono.just(denied.asDegraded(Degradation.CLOSED)));
    }

    /** Answers as a limiter does whose store is away, in the mode that allows. */
    public static BrokenLimiter open(RateLimitPolicy policy) {
        Decision allowed = Decision.wouldAllow(policy, 1, policy.capacity(), Decision.UNKNOWN, Decision.UNKNOWN);
        return new BrokenLimiter(policy, Mono.just(allowed.asDegraded(Degradation.OPEN)));
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        return answer;
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        return answer;
    }

    @Override
    public Mono<Decision> peek(String key, long permits) {
        return answer;
    }

    @Override
    public Mono<Void> reset(String key) {
        return Mono.empty();
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        return Mono.empty();
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        return Mono.empty();
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        return Mono.error(new Failure());
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        return Mono.error(new Failure());
    }

    @Override
    public <T> Flux<T> use(String key, long permits, Publisher<T> work) {
        return Flux.error(new Failure());
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy policy) {
        return Mono.empty();
    }

    @Override
    public String name() {
        return "broken";
    }

    @Override
    public Mono<Void> close() {
        return Mono.empty();
    }
}

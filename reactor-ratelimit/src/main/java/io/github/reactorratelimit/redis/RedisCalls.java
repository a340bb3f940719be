package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The script calls of one limiter, through a breaker: what is answered comes on a thread of the connection. */
final class RedisCalls {

    /** A resolver that makes up a policy for every key would make these pipes for every key. */
    private static final int MAX_POLICIES = 1_000;

    private static final Duration PROBE_EVERY = Duration.ofMillis(500);

    private final LimiterSettings settings;
    private final ScriptCaller caller;
    private final RedisKeys keys;
    private final boolean coalescing;
    private final long startMicros;
    private final Breaker breaker = new Breaker(PROBE_EVERY.toNanos());
    private final PolicyPipes own;
    private final Map<RateLimitPolicy, PolicyPipes> others = new ConcurrentHashMap<>();

    RedisCalls(LimiterSettings settings, ScriptCaller caller, RedisKeys keys, boolean coalescing) {
        this.settings = settings;
        this.caller = caller;
        this.keys = keys;
        this.coalescing = coalescing;
        this.startMicros = TimeUnit.MILLISECONDS.toMicros(settings.scheduler().now(TimeUnit.MILLISECONDS));
        this.own = newPipes(settings.policy());
    }

    Breaker breaker() {
        return breaker;
    }

    private PolicyPipes newPipes(RateLimitPolicy policy) {
        return new PolicyPipes(PolicyArguments.of(policy, startMicros), keys, caller, coalescing);
    }

    private PolicyPipes pipes(RateLimitPolicy policy) {
        if (policy.equals(settings.policy())) {
            return own;
        }
        if (others.size() >= MAX_POLICIES && !others.containsKey(policy)) {
            throw new IllegalStateException("limiter '" + settings.name() + "' has more than " + MAX_POLICIES
                    + " different policies; the policy resolver should return a few plans, not one policy per key");
        }
        return others.computeIfAbsent(policy, this::newPipes);
    }

    /** What an ask brings, as the script answers it. */
    Mono<KeyPipe.Answered> ask(String key, RateLimitPolicy policy, Ask ask) {
        return Mono.defer(() -> throughBreaker(pipes(policy).ask(key, ask)));
    }

    /** The part of a policy with an index as an answer names it. */
    RateLimitPolicy part(RateLimitPolicy policy, int index) {
        return pipes(policy).policy().part(index);
    }

    /** The decision on an ask; {@code owner} is what its debit belongs to. */
    Mono<Decision> decide(Object owner, String key, RateLimitPolicy policy, Ask ask) {
        return Mono.defer(() -> {
            PolicyPipes pipes = pipes(policy);
            return throughBreaker(pipes.ask(key, ask)).map(answered -> decision(owner, key, pipes, ask, answered));
        });
    }

    private <T> Mono<T> throughBreaker(Mono<T> call) {
        Scheduler clock = settings.scheduler();
        if (!breaker.lets(clock.now(TimeUnit.NANOSECONDS))) {
            return Mono.error(new RedisUnavailableException("Redis was unavailable a moment ago"));
        }
        return call.doOnError(RedisUnavailableException.class, e -> breaker.failed(clock.now(TimeUnit.NANOSECONDS)))
                .doOnNext(answered -> breaker.succeeded());
    }

    private static Decision decision(Object owner, String key, PolicyPipes pipes, Ask ask, KeyPipe.Answered answered) {
        ScriptReply.Answer answer = answered.answer();
        RateLimitPolicy binding = pipes.policy().part(answer.part());
        Tick tick = Tick.MICROSECOND;
        Decision.Quota quota =
                new Decision.Quota(binding.capacity(), answer.remaining(), tick.toNanos(answer.resetMicros()));
        if (!answer.allowed()) {
            return Decision.deny(binding, ask.permits(), quota, tick.toNanos(answer.waitMicros()));
        }
        if (ask.op() != Ask.Op.TAKE) {
            return Decision.wouldAllow(binding, ask.permits(), quota);
        }
        Debit debit = new Debit(owner, key, pipes.policy().policy(), ask.permits(), answered.atMicros());
        return Decision.allow(binding, quota, debit);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The script calls of one limiter, through a breaker: what is answered comes on a thread of the connection. */
final class RedisCalls {

    /** A resolver that makes up a policy for every key would make these pipes for every key. */
    private static final int MAX_POLICIES = 1_000;

    static final Duration PROBE_EVERY = Duration.ofMillis(500);

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

    ScriptCaller caller() {
        return caller;
    }

    RedisKeys keys() {
        return keys;
    }

    Ruling ruling(RateLimitPolicy policy) {
        return pipes(policy).ruling();
    }

    private PolicyPipes newPipes(RateLimitPolicy policy) {
        return new PolicyPipes(Ruling.of(PolicyArguments.of(policy, startMicros)), keys, caller, coalescing);
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

    /** The decision on an ask; {@code owner} is what its debit belongs to. */
    Mono<Decision> decide(Object owner, String key, RateLimitPolicy policy, Ask ask) {
        return ask(key, policy, ask).map(answered -> decision(owner, key, policy, ask, answered));
    }

    /** The answer to an ask as the script gave it. */
    Mono<KeyPipe.Answered> ask(String key, RateLimitPolicy policy, Ask ask) {
        return Mono.defer(() -> throughBreaker(pipes(policy).ask(key, ask)));
    }

    /** Whether those who wait under a policy reserve the time at which they leave. */
    boolean reserves(RateLimitPolicy policy) {
        boolean strict = policy instanceof LeakyBucket bucket && bucket.strict();
        return !strict && pipes(policy).policy().reserves();
    }

    /** Counts what a key spent under one policy as spent under another, in one step. */
    Mono<Void> move(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return Mono.defer(() -> {
                    Ruling ruling =
                            new Ruling(0, pipes(to).policy(), pipes(from).policy());
                    String[] names = keys.of(key, ruling.keyNames());
                    return throughBreaker(caller.call(ruling, names, List.of(Ask.move())));
                })
                .then();
    }

    private <T> Mono<T> throughBreaker(Mono<T> call) {
        Scheduler clock = settings.scheduler();
        if (!breaker.lets(clock.now(TimeUnit.NANOSECONDS))) {
            return Mono.error(new RedisUnavailableException("Redis was unavailable a moment ago"));
        }
        return call.doOnError(RedisUnavailableException.class, e -> breaker.failed(clock.now(TimeUnit.NANOSECONDS)))
                .doOnNext(answered -> breaker.succeeded());
    }

    /** What an answered ask is told. */
    Decision decision(Object owner, String key, RateLimitPolicy policy, Ask ask, KeyPipe.Answered answered) {
        if (!answered.answer().allowed()) {
            return denial(policy, ask, answered);
        }
        RateLimitPolicy binding = binding(policy, answered);
        Decision.Quota quota = quota(binding, answered);
        if (ask.op() != Ask.Op.TAKE) {
            return Decision.wouldAllow(binding, ask.permits(), quota);
        }
        Debit debit =
                new Debit(owner, key, policy, ask.permits(), answered.key().nowMicros());
        return Decision.allow(binding, quota, debit);
    }

    /** What a denied ask is told. */
    Decision denial(RateLimitPolicy policy, Ask ask, KeyPipe.Answered answered) {
        RateLimitPolicy binding = binding(policy, answered);
        long retryAfter = Tick.MICROSECOND.toNanos(answered.answer().waitMicros());
        return Decision.deny(binding, ask.permits(), quota(binding, answered), retryAfter);
    }

    /** The part of a policy that an answer is about. */
    RateLimitPolicy binding(RateLimitPolicy policy, KeyPipe.Answered answered) {
        return pipes(policy).policy().part(answered.answer().part());
    }

    static Decision.Quota quota(RateLimitPolicy binding, KeyPipe.Answered answered) {
        ScriptReply.Answer answer = answered.answer();
        return new Decision.Quota(
                binding.capacity(), answer.remaining(), Tick.MICROSECOND.toNanos(answer.resetMicros()));
    }
}

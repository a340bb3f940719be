package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The script calls of one limiter, through a breaker: what is answered comes on a thread of the connection. */
final class RedisCalls {

    /** A resolver that makes up a policy for every key would make these pipes for every key. */
    private static final int MAX_POLICIES = 1_000;

    /** Policies that ruled before and are remembered, where keys may have policies of their own. */
    private static final int MOST_PAST = 1_000;

    static final Duration PROBE_EVERY = Duration.ofMillis(500);

    /** Others may act under the policy before until they hear of this one. */
    static final Duration BEFORE_MATTERS_LONGER = Duration.ofMinutes(1);

    private static final AtomicReferenceFieldUpdater<RedisCalls, Reign> REIGN =
            AtomicReferenceFieldUpdater.newUpdater(RedisCalls.class, Reign.class, "reign");

    private final LimiterSettings settings;
    private final ScriptCaller caller;
    private final RedisKeys keys;
    private final boolean coalescing;
    private final long startMicros;
    private final Breaker breaker;
    private final PolicyEpochs epochs;
    private final HeldSlots heldSlots;
    private final Deliveries deliveries;
    private final TakeOffice office;
    private volatile Reign reign;

    /**
     * Who rules, and the pipes of the calls that say so.
     *
     * @param past policies that ruled before
     * @param beforeUntilNanos how long what was spent under the policy before may matter
     * @param others those of policies that keys have of their own
     */
    private record Reign(
            PolicyEpochs.Rule rule,
            Set<RateLimitPolicy> past,
            PolicyPipes own,
            long beforeUntilNanos,
            Map<RateLimitPolicy, PolicyPipes> others) {}

    RedisCalls(LimiterSettings settings, ScriptCaller caller, RedisKeys keys, StoreOptions options) {
        this.settings = settings;
        this.caller = caller;
        this.keys = keys;
        this.coalescing = options.coalescing();
        this.breaker = new Breaker(new FailureLog(settings, options), PROBE_EVERY.toNanos());
        this.startMicros = TimeUnit.MILLISECONDS.toMicros(settings.scheduler().now(TimeUnit.MILLISECONDS));
        this.deliveries = new Deliveries(settings.callbacks(), settings.scheduler());
        boolean onConnection = options.onConnection() && coalescing;
        this.office = new TakeOffice(
                caller, breaker, deliveries, keys, coalescing, onConnection, new UnusualKeys(), settings);
        this.reign = reign(PolicyEpochs.Rule.alone(options.policyEpoch(), settings.policy()), Set.of());
        UnaryOperator<Mono<List<Object>>> calling = call -> throughBreaker(tellingBreaker(call));
        this.heldSlots = new HeldSlots(caller, keys, calling);
        PolicyEpochs.Registry registry = new PolicyRegistry(caller, keys, calling);
        this.epochs = new PolicyEpochs(
                settings, options.policyEpoch(), ClockReader.beside(registry, settings, caller::time), this::enthrone);
    }

    Breaker breaker() {
        return breaker;
    }

    PolicyEpochs epochs() {
        return epochs;
    }

    /** Tells the slots of this limiter in this process from those of others. */
    long instance() {
        return heldSlots.instance();
    }

    /** What became of the slots of a key, read together with other keys; empty if its policy has none any more. */
    Mono<ScriptReply.KeyStatus> readSlots(String key, RateLimitPolicy policy) {
        PolicyArguments ruling = pipes(policy).policy();
        return reserves(ruling) ? heldSlots.read(key, ruling.partNames().get(0)) : Mono.empty();
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

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    private Reign reign(PolicyEpochs.Rule rule, Set<RateLimitPolicy> past) {
        RateLimitPolicy before = rule.before();
        long untilNanos = before == null
                ? 0
                : now()
                        + Algorithms.traits(before)
                                .recovery()
                                .plus(BEFORE_MATTERS_LONGER)
                                .toNanos();
        PolicyArguments policyBefore = before == null ? null : PolicyArguments.of(before, startMicros);
        return new Reign(rule, past, pipes(ruling(rule, policyBefore), office), untilNanos, new ConcurrentHashMap<>());
    }

    private Ruling ruling(PolicyEpochs.Rule rule, @Nullable PolicyArguments before) {
        return new Ruling(rule.epoch(), PolicyArguments.of(rule.policy(), startMicros), before, rule.epochBefore());
    }

    private PolicyPipes pipes(Ruling ruling, @Nullable TakeOffice taking) {
        return new PolicyPipes(ruling, keys, this::send, coalescing, taking);
    }

    private void enthrone(PolicyEpochs.Rule rule) {
        Set<RateLimitPolicy> past = new LinkedHashSet<>(reign.past());
        past.add(reign.rule().policy());
        past.remove(rule.policy());
        if (past.size() > MOST_PAST) {
            past.remove(past.iterator().next());
        }
        reign = reign(isTheSame(rule) ? rule.of(reign.rule().policy()) : rule, past);
    }

    /** Whether only the epoch is another: then nothing has been carried over. */
    private boolean isTheSame(PolicyEpochs.Rule next) {
        PolicyEpochs.Rule known = reign.rule();
        return next.before() == null
                && next.epoch() <= known.epoch() + 1
                && next.policy().equals(known.policy());
    }

    /** Without the policy before, once that no longer matters. */
    private Reign reign() {
        Reign current = reign;
        if (current.rule().before() != null && current.beforeUntilNanos() - now() <= 0) {
            PolicyEpochs.Rule rule = current.rule();
            Reign alone = reign(PolicyEpochs.Rule.alone(rule.epoch(), rule.policy()), current.past());
            REIGN.compareAndSet(this, current, alone);
            return reign;
        }
        return current;
    }

    private boolean isOwn(Reign current, RateLimitPolicy policy) {
        return policy == settings.policy()
                || !settings.policiesPerKey()
                || policy.equals(settings.policy())
                || policy.equals(current.rule().policy())
                || current.past().contains(policy);
    }

    /** The policy that rules where this one was meant to: a newer one in place of the limiter's own. */
    RateLimitPolicy ruled(RateLimitPolicy policy) {
        Reign current = reign;
        return !current.past().isEmpty() && isOwn(current, policy)
                ? current.rule().policy()
                : policy;
    }

    /**
     * Whether what was debited has been carried over to another policy. Debits name the very policy that a reign began with, so one
     * of an earlier reign of an equal policy is told apart.
     */
    boolean isSuperseded(Debit debit) {
        RateLimitPolicy policy = debit.policy();
        Reign current = reign;
        return !current.past().isEmpty() && policy != current.rule().policy() && isOwn(current, policy);
    }

    private PolicyPipes pipes(RateLimitPolicy policy) {
        Reign current = reign();
        if (isOwn(current, policy)) {
            return current.own();
        }
        Map<RateLimitPolicy, PolicyPipes> others = current.others();
        if (others.size() >= MAX_POLICIES && !others.containsKey(policy)) {
            throw new IllegalStateException("limiter '" + settings.name() + "' has more than " + MAX_POLICIES
                    + " different policies; the policy resolver should return a few plans, not one policy per key");
        }
        long epoch = current.rule().epoch();
        // On a Cluster each policy would have a pipe for each slot.
        TakeOffice taking = office.isSplitBySlot() ? null : office;
        return others.computeIfAbsent(
                policy, other -> pipes(new Ruling(epoch, PolicyArguments.of(other, startMicros), null), taking));
    }

    /** For plain takes under a policy; null if they need the whole script. */
    @Nullable
    TakePipes takes(RateLimitPolicy policy) {
        return reign.past().isEmpty() ? pipes(policy).takes() : null;
    }

    /** Something is written for the key that the short script knows nothing of. */
    void markUnusual(String key) {
        office.unusual().mark(key, now());
    }

    Deliveries deliveries() {
        return deliveries;
    }

    /** The decision on an ask; {@code owner} is what its debit belongs to. */
    Mono<Decision> decide(Object owner, String key, RateLimitPolicy policy, Ask ask) {
        return ask(key, policy, ask).map(answered -> decision(owner, key, ask, answered));
    }

    /** The answer to an ask as the script gave it. */
    Mono<Answered> ask(String key, RateLimitPolicy policy, Ask ask) {
        return epochs.ruled(() -> askRuled(key, policy, ask));
    }

    /** Gives back what was debited. Empty if it turns out that it cannot be, because it {@linkplain #isSuperseded was carried over}. */
    Mono<Answered> giveBack(Debit debit) {
        Ask giveBack = Ask.giveBack(debit.permits(), debit.atTick());
        return epochs.ruled(
                () -> isSuperseded(debit) ? Mono.<Answered>empty() : askRuled(debit.key(), debit.policy(), giveBack));
    }

    private Mono<Answered> askRuled(String key, RateLimitPolicy policy, Ask ask) {
        PolicyPipes pipes = pipes(policy);
        if (!reign.past().isEmpty()) {
            checkFollowed(pipes.policy(), ask);
        }
        return throughBreaker(pipes.ask(key, ask));
    }

    /** Whoever asked knew another policy. */
    private static void checkFollowed(PolicyArguments ruling, Ask ask) {
        long capacity = ruling.policy().capacity();
        if (ask.op().isBoundedByCapacity() && ask.permits() > capacity) {
            throw new PermitsExceedCapacityException(ask.permits(), capacity);
        }
        if (ask.op().needsSlots() && !reserves(ruling)) {
            throw new NoSlotsException();
        }
    }

    /** Whether those who wait under a policy reserve the time at which they leave. */
    boolean reserves(RateLimitPolicy policy) {
        return reserves(pipes(policy).policy());
    }

    private static boolean reserves(PolicyArguments ruling) {
        return ruling.reserves() && Algorithms.traits(ruling.policy()).catchesUp();
    }

    /** Counts what a key spent under one policy as spent under another, in one step. */
    Mono<Void> move(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return epochs.ruled(() -> {
                    Ruling target = pipes(to).ruling();
                    Ruling ruling = new Ruling(
                            target.epoch(), target.policy(), pipes(from).policy());
                    return throughBreaker(send(ruling, keys.of(key, ruling.keyNames()), List.of(Ask.move())));
                })
                .then();
    }

    private <T> Mono<T> throughBreaker(Mono<T> call) {
        return mayCall() ? call : Mono.error(unavailableAMomentAgo());
    }

    /** Whether a call may be sent now; whoever asks has to send it. */
    boolean mayCall() {
        return !breaker.isOpen() || breaker.lets(now());
    }

    static RedisUnavailableException unavailableAMomentAgo() {
        return new RedisUnavailableException("Redis was unavailable a moment ago");
    }

    /** However many asks travel in it, a call that fails is one failure. */
    private Mono<ScriptReply> send(Ruling ruling, String[] names, List<Ask> asks) {
        return tellingBreaker(caller.call(ruling, names, asks))
                .flatMap(
                        reply -> reply.key().unsettled() ? settle(ruling, names).thenReturn(reply) : Mono.just(reply));
    }

    /** More slots were freed than one call may give back. What is asked meanwhile waits, so that it finds them. */
    private Mono<Void> settle(Ruling ruling, String[] names) {
        Mono<ScriptReply> more = Mono.defer(() -> tellingBreaker(caller.call(ruling, names, List.of(Ask.look(1)))));
        return more.expand(reply -> reply.key().unsettled() ? more : Mono.empty())
                .onErrorComplete()
                .then();
    }

    private <T> Mono<T> tellingBreaker(Mono<T> call) {
        return call.doOnError(error -> breaker.failed(error, now())).doOnNext(answered -> breaker.succeeded());
    }

    /** What an answered ask is told. */
    static Decision decision(Object owner, String key, Ask ask, Answered answered) {
        if (!answered.answer().allowed()) {
            return denial(ask, answered);
        }
        RateLimitPolicy binding = answered.binding();
        Decision.Quota quota = quota(binding, answered);
        if (ask.op() != Ask.Op.TAKE) {
            return Decision.wouldAllow(binding, ask.permits(), quota);
        }
        Debit debit = new Debit(
                owner,
                key,
                answered.policy().policy(),
                ask.permits(),
                answered.key().nowMicros());
        return Decision.allow(binding, quota, debit);
    }

    /** A denial that nobody had to ask for; {@code retryAfterNanos} may be unknown. */
    Decision denyUnasked(RateLimitPolicy policy, long permits, long retryAfterNanos) {
        RateLimitPolicy ruling = ruled(policy);
        Decision.Quota quota = new Decision.Quota(ruling.capacity(), 0, Decision.Quota.UNKNOWN);
        return Decision.deny(ruling, permits, quota, retryAfterNanos);
    }

    /** What a denied ask is told. */
    static Decision denial(Ask ask, Answered answered) {
        RateLimitPolicy binding = answered.binding();
        long retryAfter = Tick.MICROSECOND.toNanos(answered.answer().waitMicros());
        return Decision.deny(binding, ask.permits(), quota(binding, answered), retryAfter);
    }

    static Decision.Quota quota(RateLimitPolicy binding, Answered answered) {
        ScriptReply.Answer answer = answered.answer();
        return new Decision.Quota(
                binding.capacity(),
                answer.remaining(),
                Tick.MICROSECOND.toNanos(answer.resetMicros()),
                Tick.MICROSECOND.toNanos(answer.moreMicros()));
    }
}

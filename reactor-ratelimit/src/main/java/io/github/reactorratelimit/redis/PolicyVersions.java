package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.queue.DrainLoop;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/**
 * The policy in effect for a limiter: the one it was built with, until a process registers a higher version.
 * The registry in Redis is read when the limiter opens, when a key turns out to have a newer version, when a
 * signal says so and when signals were missed. It is read every 30 seconds only where a signal could be
 * missed for ever, or the limiter has versions.
 *
 * <p>Requests wait until the registry was read once: in this drain loop, in order of arrival.
 */
final class PolicyVersions extends DrainLoop {

    /**
     * Less than {@link #PREDECESSOR_MATTERS}: by then every process follows, whether or not signals arrive.
     */
    static final Duration READ_EVERY = Duration.ofSeconds(30);

    /**
     * How much longer than its recovery a predecessor matters: other processes may act under it until they
     * hear of the change.
     */
    static final Duration PREDECESSOR_MATTERS = Duration.ofMinutes(1);

    /** Overrides that are kept as the script reads them; others are made again when they are used. */
    static final int MAX_OVERRIDES = 1_000;

    private static final int MAX_EARLIER = 1_000;

    private static final AtomicReferenceFieldUpdater<PolicyVersions, InEffect> IN_EFFECT =
            AtomicReferenceFieldUpdater.newUpdater(PolicyVersions.class, InEffect.class, "inEffect");

    /**
     * A version of the policy.
     *
     * @param script what commands name; knows number, policy and predecessor
     * @param beforeUntilNanos how long usage under the predecessor may matter
     * @param overrides policies that keys have instead
     */
    private record InEffect(ScriptPolicy script, long beforeUntilNanos, Map<RateLimitPolicy, ScriptPolicy> overrides) {

        long number() {
            return script.version();
        }

        RateLimitPolicy policy() {
            return script.policy();
        }
    }

    private final LimiterSettings settings;
    private final LimiterCommands commands;
    private final Function<Command, Mono<CommandReply>> registry;
    private final boolean hasSignals;
    private final AtomicReference<@Nullable Mono<Void>> reading = new AtomicReference<>();
    private final AtomicLong readAtNanos;

    /** Policies that were in effect before, the very objects. Each is here before it is replaced. */
    private final List<RateLimitPolicy> earlier = new CopyOnWriteArrayList<>();

    private final Queue<MonoSink<Void>> waiting = new ConcurrentLinkedQueue<>();
    private volatile InEffect inEffect;
    private volatile Consumer<RateLimitPolicy> listener = policy -> {};

    /** Whether the registry was read, or never can be. */
    private volatile boolean opened;

    private volatile boolean hasRead;

    /** What the requests that wait fail with. */
    private volatile @Nullable Throwable refusal;

    /** @param hasSignals whether other processes tell of new versions */
    PolicyVersions(LimiterSettings settings, LimiterCommands commands, long version, boolean hasSignals) {
        this(settings, commands, commands::sendToRegistry, version, hasSignals);
    }

    /** @param registry sends a command about the versions */
    PolicyVersions(
            LimiterSettings settings,
            LimiterCommands commands,
            Function<Command, Mono<CommandReply>> registry,
            long version,
            boolean hasSignals) {
        this.settings = settings;
        this.commands = commands;
        this.registry = registry;
        this.hasSignals = hasSignals;
        this.readAtNanos = new AtomicLong(commands.now());
        this.inEffect = withoutPredecessor(version, settings.policy());
    }

    /** Reads the registry; the listener hears of each policy that takes effect. */
    void open(Consumer<RateLimitPolicy> listener) {
        this.listener = listener;
        readAside(reading());
    }

    /**
     * Whether requests need not wait: the registry was read, and those that waited for that were let through.
     */
    boolean isSettled() {
        return opened && isIdle();
    }

    /** Completes when the registry was read and all requests that came before were let through. */
    Mono<Void> settled() {
        return Mono.create(sink -> {
            waiting.add(sink);
            signal();
            // A reading opens before it ends: if none is in flight and this is open, no other one is needed.
            Mono<Void> inFlight = reading.get();
            if (inFlight == null && !opened) {
                readAside(reading());
            }
        });
    }

    @Override
    protected void drain() {
        Throwable error = refusal;
        if (opened || error != null) {
            refusal = null;
            for (MonoSink<Void> next = waiting.poll(); next != null; next = waiting.poll()) {
                if (opened || error == null) {
                    next.success();
                } else {
                    next.error(error);
                }
            }
        }
    }

    /**
     * @param before the predecessor; null if it is not known, or was equal
     * @param versionBefore that of the predecessor
     */
    private InEffect version(
            long number, RateLimitPolicy policy, @Nullable RateLimitPolicy before, long versionBefore) {
        ScriptPolicy scriptBefore = before == null ? null : ScriptPolicy.of(before);
        ScriptPolicy script = ScriptPolicy.of(policy).withVersion(number, scriptBefore, versionBefore);
        long matters = before == null
                ? 0
                : Algorithms.traits(before).recovery().plus(PREDECESSOR_MATTERS).toNanos();
        return new InEffect(script, commands.now() + matters, new ConcurrentHashMap<>());
    }

    private InEffect withoutPredecessor(long number, RateLimitPolicy policy) {
        return version(number, policy, null, ScriptPolicy.UNKNOWN);
    }

    /** The policy of a key as the script reads it. */
    ScriptPolicy script(@Nullable RateLimitPolicy override) {
        InEffect current = inEffect;
        if (current.script().before() != null && current.beforeUntilNanos() - commands.now() <= 0) {
            InEffect alone = withoutPredecessor(current.number(), current.policy());
            current = IN_EFFECT.compareAndSet(this, current, alone) ? alone : inEffect;
        }
        return override == null ? current.script() : overrideScript(current, override);
    }

    private ScriptPolicy overrideScript(InEffect current, RateLimitPolicy override) {
        Map<RateLimitPolicy, ScriptPolicy> overrides = current.overrides();
        ScriptPolicy known = overrides.get(override);
        if (known != null) {
            return known;
        }
        if (overrides.size() >= MAX_OVERRIDES) {
            overrides.clear();
        }
        long version = current.number();
        return overrides.computeIfAbsent(
                override, policy -> ScriptPolicy.of(policy).withVersion(version, null, ScriptPolicy.UNKNOWN));
    }

    /**
     * The policy under which a debit is refunded. Null if that was replaced: usage under it was carried over
     * or has recovered, and a refund would count under another rate.
     */
    @Nullable
    ScriptPolicy scriptOf(RateLimitPolicy policy) {
        ScriptPolicy current = script(null);
        if (policy == current.policy()) {
            return current;
        }
        boolean isReplaced = earlier.stream().anyMatch(one -> one == policy);
        return settings.policiesPerKey() && !isReplaced ? script(policy) : null;
    }

    /** The policy of a key. */
    RateLimitPolicy policy(@Nullable RateLimitPolicy override) {
        return override == null ? inEffect.policy() : override;
    }

    /** A process with this version exists. Completes when this limiter has it too. */
    Mono<Void> follow(long version) {
        Mono<Void> read = Mono.defer(() -> has(version) ? Mono.empty() : reading());
        // The first reading that this one joins may have begun before the version was registered.
        return read.then(read)
                .then(Mono.defer(() -> has(version) ? Mono.<Void>empty() : Mono.error(unregistered(version))));
    }

    private boolean has(long version) {
        return inEffect.number() >= version;
    }

    private RedisUnavailableException unregistered(long version) {
        return new RedisUnavailableException("limiter '" + settings.name() + "' has a policy of version " + version
                + " that is not registered; this process has version "
                + inEffect.number());
    }

    /** @throws IllegalArgumentException if Redis cannot hold the policy exactly */
    void check(RateLimitPolicy policy) {
        ScriptPolicy.of(policy);
    }

    /**
     * Registers another policy as the next version and follows it. Several processes may do so: one after the
     * other.
     */
    Mono<Void> change(RateLimitPolicy to) {
        return Mono.defer(() -> isSettled() ? Mono.empty() : settled())
                .then(Mono.defer(() -> {
                    InEffect current = inEffect;
                    return registry.apply(Command.changeVersion(current.number(), current.policy(), to));
                }))
                .flatMap(reply -> reply.versions().isEmpty()
                        ? Mono.empty()
                        : follow(reply.versions().lastKey()));
    }

    /** A signal says that there is this version. */
    void heard(String subject) {
        try {
            readAside(follow(Long.parseLong(subject)));
        } catch (NumberFormatException stranger) {
            FailureLog.LOG.debug("A signal names no policy version");
        }
    }

    /** Anything may have happened, also since the reading in flight was made. */
    void readAgain() {
        Mono<Void> older = reading.get();
        readAside(older == null ? reading() : older.onErrorComplete().then(Mono.defer(this::reading)));
    }

    /** For each command that is sent: nothing else looks whether it is time. */
    void readIfDue() {
        if (!hasSignals || inEffect.number() > 0) {
            long now = commands.now();
            long last = readAtNanos.get();
            if (now - last >= READ_EVERY.toNanos() && readAtNanos.compareAndSet(last, now)) {
                readAside(reading());
            }
        }
    }

    /** What goes wrong is logged where it happens, or by {@link #failed}. */
    private static void readAside(Mono<Void> read) {
        read.subscribe(done -> {}, failed -> {});
    }

    /** The one reading in flight. */
    private Mono<Void> reading() {
        Mono<Void> inFlight = reading.get();
        if (inFlight != null) {
            return inFlight;
        }
        Mono<Void> mine = Mono.defer(this::read)
                .doOnNext(reply -> learn(reply.versions()))
                .then()
                .doOnSuccess(done -> letThrough(null))
                .doOnTerminate(() -> reading.set(null))
                .doOnError(this::failed)
                .cache();
        Mono<Void> first = reading.compareAndExchange(null, mine);
        return first == null ? mine : first;
    }

    private Mono<CommandReply> read() {
        InEffect current = inEffect;
        long sentNanos = commands.now();
        Command read = current.number() == 0
                ? Command.readVersions()
                : Command.registerVersion(current.number(), current.policy());
        return registry.apply(read)
                .doOnNext(reply -> commands.clock().compare(reply.key().nowMicros(), sentNanos));
    }

    /**
     * Without the registry earlier usage is unknown. Requests go on only if it is broken for
     * good.
     */
    private void failed(Throwable error) {
        if (error instanceof RedisUnavailableException) {
            letThrough(error);
            return;
        }
        if (!(error instanceof RedisErrorReplyException)) {
            FailureLog.LOG.warn(
                    "Limiter '{}': its policy versions in Redis cannot be read, {}", settings.name(), error.toString());
        }
        letThrough(null);
    }

    private void letThrough(@Nullable Throwable error) {
        if (error == null) {
            opened = true;
        } else {
            refusal = error;
        }
        signal();
    }

    /** By one reading at a time. */
    private void learn(NavigableMap<Long, String> versions) {
        boolean isFirst = !hasRead;
        hasRead = true;
        InEffect known = inEffect;
        if (versions.isEmpty() || (!isFirst && versions.lastKey() <= known.number())) {
            return;
        }
        inEffect = newest(versions, known);
        listener.accept(inEffect.policy());
    }

    private InEffect newest(NavigableMap<Long, String> versions, InEffect known) {
        long number = versions.lastKey();
        RateLimitPolicy policy = parse(versions.lastEntry().getValue());
        boolean isKnown = policy.equals(known.policy());
        if (number == known.number() && !isKnown) {
            FailureLog.LOG.error(
                    "Limiter '{}': version {} is registered with {}, which is in effect here too; raise the version for {}",
                    settings.name(),
                    number,
                    policy,
                    known.policy());
        }
        Map.Entry<Long, String> lower = versions.lowerEntry(number);
        RateLimitPolicy own = known.number() < number ? known.policy() : null;
        RateLimitPolicy before = lower == null ? own : parse(lower.getValue());
        if (isKnown && (before == null || policy.equals(before)) && number <= known.number() + 1) {
            // Only the number differs: nothing is carried over.
            return withoutPredecessor(number, known.policy());
        }
        earlier.add(known.policy());
        if (earlier.size() > MAX_EARLIER) {
            earlier.remove(0);
        }
        long versionBefore = lower == null ? known.number() : lower.getKey();
        return version(number, policy, policy.equals(before) ? null : before, versionBefore);
    }

    static RateLimitPolicy parse(String text) {
        try {
            return PolicyText.parse(text);
        } catch (IllegalArgumentException unknown) {
            throw new RedisCorruptStateException("the policy versions of the limiter hold " + unknown.getMessage());
        }
    }

    /** The number of the version in effect. */
    long number() {
        return inEffect.number();
    }
}

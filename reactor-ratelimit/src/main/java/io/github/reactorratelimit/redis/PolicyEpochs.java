package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Which policy rules in place of a limiter's own: that one, until a process came with a higher epoch. Learned from the registry
 * when the limiter opens, when a script says that a key has a newer policy, when a signal says so, and now and then.
 */
final class PolicyEpochs {

    /**
     * What rules.
     *
     * @param before what ruled before; null if that is not known, or was the same
     * @param epochBefore the epoch of that
     */
    record Rule(
            long epoch, RateLimitPolicy policy, @Nullable RateLimitPolicy before, long epochBefore) {

        static Rule alone(long epoch, RateLimitPolicy policy) {
            return new Rule(epoch, policy, null, Ruling.UNKNOWN);
        }

        /** The same of a policy that is equal to this one's. */
        Rule of(RateLimitPolicy equal) {
            return new Rule(epoch, equal, before, epochBefore);
        }
    }

    /** The policies by their epochs, as they are written, where all processes find them. */
    interface Registry {

        /** Registers a rule and brings all that are known. */
        Mono<NavigableMap<Long, String>> register(Rule rule);

        /**
         * Registers another policy under the next epoch unless it rules already, and what it replaces: the newest that is known, or else
         * {@code rule}. Brings all that are known then: none if nothing is registered, because {@code rule} is that policy.
         */
        Mono<NavigableMap<Long, String>> change(Rule rule, RateLimitPolicy to);
    }

    /** Less than {@link RedisCalls#BEFORE_MATTERS_LONGER}: by then everybody follows, whether or not signals arrive. */
    static final Duration READ_EVERY = Duration.ofSeconds(30);

    private static final long READ_EVERY_NANOS = READ_EVERY.toNanos();

    private static final Logger LOG = Loggers.getLogger(RedisStore.class);

    private final LimiterSettings settings;
    private final Registry registry;
    private final Consumer<Rule> throne;
    private final AtomicReference<@Nullable Mono<Void>> reading = new AtomicReference<>();
    private final AtomicLong readAtNanos;

    private final Anteroom anteroom = new Anteroom();

    private volatile Rule rule;
    private volatile boolean hasRead;
    private volatile Consumer<Rule> herald = news -> {};

    /** @param throne told of another rule before anybody else */
    PolicyEpochs(LimiterSettings settings, long epoch, Registry registry, Consumer<Rule> throne) {
        this.settings = settings;
        this.registry = registry;
        this.throne = throne;
        this.rule = Rule.alone(epoch, settings.policy());
        this.readAtNanos = new AtomicLong(now());
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Reads the registry; {@code herald} is told what rules then and each time that changes. */
    void open(Consumer<Rule> herald) {
        this.herald = herald;
        read();
    }

    /** Of what rules. */
    long epoch() {
        return rule.epoch();
    }

    /** Whether it is known what ruled before, and nobody waits for that any more. */
    boolean isSettled() {
        return anteroom.isOpen();
    }

    /** Makes a call under the rule; once more if the script knows of a newer one, since then nothing ran. */
    <T> Mono<T> ruled(Supplier<Mono<T>> call) {
        return Mono.defer(() -> {
                    if (!isSettled()) {
                        return settle().then(Mono.defer(call));
                    }
                    readNowAndThen(now());
                    return call.get();
                })
                .onErrorResume(
                        NewerEpochException.class,
                        newer -> follow(newer.epoch())
                                .then(Mono.defer(call))
                                .onErrorMap(
                                        NewerEpochException.class,
                                        again -> new RedisUnavailableException(
                                                "the policy changed twice meanwhile", again)));
    }

    /**
     * A reading in flight may have let in, or refused, all calls that came before this one. A reading that succeeds opens the door
     * before it ends: if none is in flight and the door is open, this call came with the last one and needs no other.
     */
    private Mono<Void> settle() {
        return anteroom.enter(() -> {
            Mono<Void> inFlight = reading.get();
            if (inFlight != null || !isSettled()) {
                (inFlight == null ? reading() : inFlight).subscribe(nothing -> {}, this::unread, anteroom::open);
            }
        });
    }

    /** Without the registry nobody can tell what was spent before; only if it is broken for good they go on. */
    private void unread(Throwable error) {
        if (error instanceof RedisUnavailableException) {
            anteroom.refuse(error);
        } else {
            anteroom.open();
        }
    }

    /** A process with this epoch exists. */
    private Mono<Void> follow(long epoch) {
        return Mono.defer(() -> rule.epoch() >= epoch ? Mono.empty() : reading())
                // the reading that was joined may have been older
                .then(Mono.defer(() -> rule.epoch() >= epoch ? Mono.<Void>empty() : reading()))
                .then(Mono.defer(() -> rule.epoch() >= epoch ? Mono.empty() : Mono.error(unknown(epoch))));
    }

    private RedisUnavailableException unknown(long epoch) {
        return new RedisUnavailableException("limiter '" + settings.name() + "' is ruled by a policy of epoch " + epoch
                + " that is not registered; this process has epoch " + rule.epoch());
    }

    /** Lets another policy rule, under an epoch of its own, and follows it. Others may change it too: one after the other. */
    Mono<Void> change(RateLimitPolicy to) {
        return Mono.defer(() -> isSettled() ? Mono.empty() : settle())
                .then(Mono.defer(() -> registry.change(rule, to)))
                .flatMap(policies -> policies.isEmpty() ? Mono.empty() : follow(policies.lastKey()));
    }

    /** Somebody says that there is this epoch. */
    void heard(String subject) {
        try {
            follow(Long.parseLong(subject)).subscribe(nothing -> {}, unread -> {});
        } catch (NumberFormatException stranger) {
            LOG.debug("A signal names no epoch");
        }
    }

    /** For each call that is made: nobody else looks whether it is time. */
    void readNowAndThen(long nowNanos) {
        long last = readAtNanos.get();
        if (nowNanos - last >= READ_EVERY_NANOS && readAtNanos.compareAndSet(last, nowNanos)) {
            read();
        }
    }

    private void read() {
        reading().subscribe(nothing -> {}, unread -> {});
    }

    /** Anything may have happened, also since the reading that is under way was made: then once more after it. */
    void readAnew() {
        readFresh().subscribe(nothing -> {}, unread -> {});
    }

    /** A reading that begins from now on. */
    Mono<Void> readFresh() {
        return Mono.defer(() -> {
            Mono<Void> older = reading.get();
            return older == null ? reading() : older.onErrorComplete().then(Mono.defer(this::reading));
        });
    }

    /** The one reading that is under way. */
    private Mono<Void> reading() {
        for (; ; ) {
            Mono<Void> underWay = reading.get();
            if (underWay != null) {
                return underWay;
            }
            Mono<Void> mine = Mono.defer(() -> registry.register(rule))
                    .publishOn(Schedulers.boundedElastic())
                    .doOnNext(this::learn)
                    .doOnError(this::log)
                    .then()
                    .doOnSuccess(nothing -> anteroom.open())
                    .doOnTerminate(() -> reading.set(null))
                    .doOnError(this::unread)
                    .cache();
            if (reading.compareAndSet(null, mine)) {
                return mine;
            }
        }
    }

    /** What Redis did not answer, or refused, the breaker has logged. */
    private void log(Throwable unread) {
        if (!(unread instanceof RedisUnavailableException || unread instanceof RedisErrorReplyException)) {
            LOG.warn("Limiter '{}': its policies in Redis cannot be read, {}", settings.name(), unread.toString());
        }
    }

    /** By one at a time. A script may have to be put together, so not on a thread of the connection. */
    private void learn(NavigableMap<Long, String> policies) {
        Rule known = rule;
        boolean first = !hasRead;
        if (!policies.isEmpty() && (first || policies.lastKey() > known.epoch())) {
            Rule next = newest(policies);
            throne.accept(next);
            rule = next;
            hasRead = true;
            herald.accept(next);
        }
        hasRead = true;
    }

    private Rule newest(NavigableMap<Long, String> policies) {
        long epoch = policies.lastKey();
        RateLimitPolicy policy = PolicyRegistry.policyOf(policies.lastEntry().getValue());
        if (epoch == rule.epoch() && !policy.equals(rule.policy())) {
            LOG.error(
                    "Limiter '{}': epoch {} was registered with {}, which rules here too; raise the epoch for {}",
                    settings.name(),
                    epoch,
                    policy,
                    rule.policy());
        }
        Map.Entry<Long, String> lower = policies.lowerEntry(epoch);
        RateLimitPolicy own = rule.epoch() < epoch ? rule.policy() : null;
        RateLimitPolicy before = lower == null ? own : PolicyRegistry.policyOf(lower.getValue());
        long epochBefore = lower == null ? rule.epoch() : lower.getKey();
        return new Rule(epoch, policy, policy.equals(before) ? null : before, epochBefore);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Which keys of a limiter have policies of their own, on all its processes.
 *
 * <p><b>Two places.</b> The registry says what is to rule: of each key that was given a policy the last change, with what ruled before.
 * The notes of a key say which change has reached its state. A change is registered first and brought to the key then, by whoever has to
 * do with the key first and knows of it: one call in which what was spent is counted under the policy that rules from then on. Who made it
 * does that at once; who dies before leaves it to the others.
 *
 * <p><b>Nobody is behind.</b> Each call says which change it knows of, and the script refuses one that knows fewer than have reached the key:
 * then the registry is read, and the call made again. A process that has not heard of anything acts as before until the change reaches the
 * key, and not a call longer.
 *
 * <p><b>No change is left out.</b> A key is changed only after a call under all that the one who changes it knows has been answered, and only if
 * the registry knows no more than that, neither of the key nor of the limiter's policy. So when a change is registered the state is one of the
 * policy that the change names as the one before. The limiter's policies are read before those of single keys: who knows of an epoch
 * knows of all changes that were made before it, and brings them to the key before it acts under that epoch. So where the key refuses a change because
 * of a newer epoch, the change has reached it.
 *
 * <p><b>Given back</b>, a key has a last change, which is left out of the registry as soon as it has reached the key: its notes still have the
 * number. Who finds that number there and knows that the registry has nothing of the key any more goes on as with any other. Whoever still has to bring
 * that change to the key reads the registry again before, for it might come when the notes have gone.
 *
 * <p><b>A registry that is lost</b> has given all keys back: each process that knew of a policy makes the same way back of it. If only the last
 * changes are lost, those before them count again. Whoever finds a key that a lost change has reached lets what is registered count from then on,
 * under a number that is larger. Then all who know of the lost change are told by the key. What was spent under a policy that nobody
 * names any more is not known: its key begins with everything spent. The notes say whether the state is one of such a policy, or the one that all have.
 */
final class OwnPolicies {

    private static final AtomicReferenceFieldUpdater<OwnPolicies, Book> BOOK =
            AtomicReferenceFieldUpdater.newUpdater(OwnPolicies.class, Book.class, "book");

    /** Keys that had a policy of their own, of which debits may be given back. */
    static final int MOST_REMEMBERED = 10_000;

    /** How often in a row a call may find that its key was changed. */
    private static final int ATTEMPTS = 5;

    /** Sends a look at the key. */
    interface Sender {
        Mono<ScriptReply> look(Ruling ruling, String key);
    }

    private record Book(long version, Map<String, OwnRule> rules) {}

    private final OwnRegistry registry;
    private final Function<RateLimitPolicy, PolicyArguments> arguments;
    private final Sender sender;
    private final SharedCall reading = new SharedCall(this::read);
    private volatile Book book = new Book(0, Map.of());
    private volatile Consumer<String> herald = key -> {};

    OwnPolicies(OwnRegistry registry, Function<RateLimitPolicy, PolicyArguments> arguments, Sender sender) {
        this.registry = registry;
        this.arguments = arguments;
        this.sender = sender;
    }

    /** {@code herald} is told of each key that has another policy. */
    void open(Consumer<String> herald) {
        this.herald = herald;
    }

    /** What is known of a key; null of almost all. */
    @Nullable
    OwnRule rule(String key) {
        Map<String, OwnRule> rules = book.rules();
        return rules.isEmpty() ? null : rules.get(key);
    }

    /** The policy that a key was given; null if none. */
    @Nullable
    RateLimitPolicy given(String key) {
        OwnRule rule = rule(key);
        return rule == null ? null : rule.given();
    }

    /** Whether a key is as all others are, and what is known here of it too. */
    boolean isPlain(String key) {
        OwnRule rule = rule(key);
        return rule == null || rule.isFollowing();
    }

    /** The registry of the limiter's policies with this one, which is read after it. */
    PolicyEpochs.Registry behind(PolicyEpochs.Registry policies) {
        return new PolicyEpochs.Registry() {
            @Override
            public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
                return policies.register(rule).flatMap(known -> reading.fresh().thenReturn(known));
            }

            @Override
            public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
                return policies.change(rule, to);
            }
        };
    }

    /** Somebody says that a key has another policy. */
    void heard() {
        reading.fresh().subscribe(nothing -> {}, unread -> {});
    }

    /** A reading that begins from now on. */
    Mono<Void> readFresh() {
        return reading.fresh();
    }

    private Mono<Void> read() {
        return learning(() -> registry.read(book.version())).then();
    }

    /** A call for a key; made again when the script knows of a change of its policy that this process does not, since then nothing ran. */
    <T> Mono<T> following(String key, Mono<T> call) {
        return following(key, call, ATTEMPTS);
    }

    private <T> Mono<T> following(String key, Mono<T> call, int attempts) {
        return call.onErrorResume(
                NewerOwnException.class,
                newer -> attempts == 0
                        ? Mono.error(new RedisUnavailableException("the key's policy changed all the time", newer))
                        : follow(key, newer.number()).then(following(key, call, attempts - 1)));
    }

    private Mono<Void> follow(String key, long number) {
        return reading.fresh()
                .then(Mono.defer(() -> knows(key, number) ? Mono.<Void>empty() : mend(key, number)))
                .then(Mono.defer(() -> knows(key, number)
                        ? Mono.empty()
                        : Mono.error(new RedisUnavailableException(
                                "change " + number + " of a key's policy is not registered"))));
    }

    private Mono<Void> mend(String key, long number) {
        return learning(() -> registry.mend(book.version(), key, number)).then();
    }

    private Mono<OwnRegistry.Reading> learning(Supplier<Mono<OwnRegistry.Reading>> call) {
        return Mono.defer(call).publishOn(Schedulers.boundedElastic()).doOnNext(this::learn);
    }

    /**
     * Whether it is known what rules the key that a change with this number has reached: none of its own, if the registry has nothing of it.
     * Leaving it out was a change too, with a number of its own.
     */
    private boolean knows(String key, long number) {
        for (; ; ) {
            Book known = book;
            OwnRule rule = known.rules().get(key);
            if (rule != null && rule.number() >= number) {
                return true;
            }
            boolean isRegistered = rule != null && rule.isRegistered();
            if (isRegistered || known.version() <= number) {
                return false;
            }
            Map<String, OwnRule> rules = new HashMap<>(known.rules());
            rules.put(key, OwnRule.following(key, known.version(), rule));
            if (BOOK.compareAndSet(this, known, new Book(known.version(), bounded(rules, key)))) {
                return true;
            }
        }
    }

    /** @param kept needed by the one who asks */
    private static Map<String, OwnRule> bounded(Map<String, OwnRule> rules, @Nullable String kept) {
        int over = rules.size() - MOST_REMEMBERED;
        if (over > 0) {
            rules.values().stream()
                    .filter(rule -> rule.record() == null && !rule.key().equals(kept))
                    .limit(over)
                    .map(OwnRule::key)
                    .toList()
                    .forEach(rules::remove);
        }
        return rules;
    }

    /** Answers may be worked off in another order than they were given. A version that is older than the one the caller knew is no older answer: all was lost. */
    void learn(OwnRegistry.Reading reading) {
        Map<String, OwnRecord> records = reading.records();
        if (records == null) {
            return;
        }
        List<String> changed = new ArrayList<>();
        for (; ; ) {
            Book known = book;
            boolean isLost = reading.version() < reading.known() && known.version() == reading.known();
            if (reading.version() <= known.version() && !isLost) {
                return;
            }
            changed.clear();
            Map<String, OwnRule> rules = rules(known, reading, isLost, changed);
            Book next = new Book(reading.version(), bounded(rules, null));
            if (BOOK.compareAndSet(this, known, next)) {
                changed.forEach(herald);
                return;
            }
        }
    }

    private Map<String, OwnRule> rules(Book known, OwnRegistry.Reading reading, boolean isLost, List<String> changed) {
        Map<String, OwnRecord> records = Objects.requireNonNull(reading.records());
        Map<String, OwnRule> rules = new HashMap<>();
        known.rules().forEach((key, rule) -> {
            if (rule.record() == null || !(rule.isRegistered() || rule.isApplied())) {
                rules.put(key, rule);
            } else if (!records.containsKey(key)) {
                rules.put(key, leftOut(rule, reading.version(), isLost));
                if (!rule.isFollowing()) {
                    changed.add(key);
                }
            }
        });
        records.forEach((key, record) -> {
            OwnRule rule = known.rules().get(key);
            if (rule != null && rule.record() != null && rule.number() == record.number()) {
                rules.put(key, rule);
            } else {
                rules.put(key, OwnRule.of(key, record, arguments, rule, this::reach));
                changed.add(key);
            }
        });
        return rules;
    }

    private OwnRule leftOut(OwnRule rule, long version, boolean isLost) {
        return isLost && rule.given() != null
                ? OwnRule.undoing(rule, arguments, this::reach)
                : OwnRule.following(rule.key(), version, rule);
    }

    private Mono<Void> reach(OwnRule rule) {
        if (rule.given() != null) {
            return bring(rule);
        }
        return reading.fresh().then(Mono.defer(() -> rule(rule.key()) == rule ? bring(rule) : Mono.empty()));
    }

    private Mono<Void> bring(OwnRule rule) {
        return sender.look(change(rule), rule.key())
                .doOnNext(reply -> {
                    rule.apply();
                    rule.answered(reply.key().nowMicros());
                })
                .then()
                .onErrorResume(
                        NewerEpochException.class,
                        newer -> rule.given() == null ? Mono.fromRunnable(rule::apply) : Mono.error(newer));
    }

    private Ruling change(OwnRule rule) {
        OwnRecord record = Objects.requireNonNull(rule.record());
        PolicyArguments before = record.before().equals(record.policy()) ? null : arguments.apply(record.before());
        return new Ruling(record.epoch(), arguments.apply(record.policy()), before).byChange(record);
    }

    /** Registers a change; see {@link OwnRegistry#change}. */
    Mono<OwnRegistry.Outcome> change(String key, long number, long epoch, String written) {
        return learning(() -> registry.change(book.version(), key, number, epoch, written))
                .map(OwnRegistry.Reading::outcome);
    }
}

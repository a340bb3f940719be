package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Gives a key a policy of its own, and takes it back: why that is right says {@link OwnPolicies}. */
final class OwnChanges {

    /** How often others may be quicker. */
    private static final int ATTEMPTS = 50;

    private final String limiter;
    private final RedisCalls calls;
    private final OwnPolicies own;
    private final PolicyEpochs epochs;
    private final Consumer<String> tell;

    /** @param tell tells all processes that a key has another policy */
    OwnChanges(String limiter, RedisCalls calls, Consumer<String> tell) {
        this.limiter = limiter;
        this.calls = calls;
        this.own = calls.own();
        this.epochs = calls.epochs();
        this.tell = tell;
    }

    /** Makes a change under what is known, or says that there is nothing to change. */
    private interface Step {
        Mono<Boolean> make(@Nullable OwnRule rule, long epoch);
    }

    /** @param named the policy that the key has if it was given none */
    Mono<Void> give(String key, RateLimitPolicy named, RateLimitPolicy to) {
        return attempt(key, named, (rule, epoch) -> {
                    RateLimitPolicy given = rule == null ? null : rule.given();
                    if (to.equals(given)) {
                        return isStill(key, rule);
                    }
                    RateLimitPolicy base = calls.ruled(named);
                    String written = OwnRecord.format(epoch, true, to, given == null ? base : given, base);
                    return changed(key, rule, epoch, written);
                })
                .then(reach(key, named));
    }

    Mono<Void> takeBack(String key, RateLimitPolicy named) {
        Mono<Void> restored = attempt(key, named, (rule, epoch) -> {
            RateLimitPolicy given = rule == null ? null : rule.given();
            if (given == null) {
                return isStill(key, rule);
            }
            RateLimitPolicy base = calls.ruled(named);
            return changed(key, rule, epoch, OwnRecord.format(epoch, false, base, given, base));
        });
        return restored.then(reach(key, named)).then(leaveOut(key));
    }

    /** Whether there is nothing to change: the key may have been changed, and have forgotten that, or not been told yet. */
    private Mono<Boolean> isStill(String key, @Nullable OwnRule rule) {
        return own.readFresh().then(Mono.fromSupplier(() -> rule == own.rule(key)));
    }

    /** The change has reached the key: there is nothing to know of it any more. If somebody was quicker, that is another change. */
    private Mono<Void> leaveOut(String key) {
        return Mono.defer(() -> {
            OwnRule rule = own.rule(key);
            return rule == null || numberOf(rule) == 0 || !rule.isFollowing()
                    ? Mono.empty()
                    : own.change(key, rule.number(), Long.MAX_VALUE, "").then();
        });
    }

    private Mono<Void> attempt(String key, RateLimitPolicy named, Step step) {
        return attempt(key, named, step, ATTEMPTS);
    }

    private Mono<Void> attempt(String key, RateLimitPolicy named, Step step, int attempts) {
        if (attempts == 0) {
            return Mono.error(new RedisUnavailableException("others changed the key's policy all the time"));
        }
        return Mono.defer(() -> {
            OwnRule rule = own.rule(key);
            long epoch = epochs.epoch();
            return calls.ask(key, named, Ask.look(1))
                    .then(Mono.defer(() -> rule == own.rule(key) && epoch == epochs.epoch()
                            ? step.make(rule, epoch)
                            : Mono.just(false)))
                    .flatMap(made -> made ? Mono.empty() : attempt(key, named, step, attempts - 1));
        });
    }

    private Mono<Boolean> changed(String key, @Nullable OwnRule rule, long epoch, String written) {
        return own.change(key, numberOf(rule), epoch, written).flatMap(outcome -> switch (outcome) {
            case DONE -> Mono.just(true);
            case BEHIND -> epochs.readFresh().thenReturn(false);
            case FULL ->
                Mono.error(new IllegalStateException("limiter '" + limiter + "' has policies for "
                        + OwnRegistry.MOST_KEYS + " keys of their own; for more give it a policyPerKey"));
        });
    }

    /** Of the change that is registered. */
    private long numberOf(@Nullable OwnRule rule) {
        return rule == null || !rule.isRegistered() ? 0 : rule.number();
    }

    /** The others may hear of it before it has reached the key, for they can bring it there; and then once more. */
    private Mono<Void> reach(String key, RateLimitPolicy named) {
        return Mono.defer(() -> {
                    tell.accept(key);
                    return calls.ask(key, named, Ask.look(1)).doOnNext(reached -> tell.accept(key));
                })
                .then();
    }
}

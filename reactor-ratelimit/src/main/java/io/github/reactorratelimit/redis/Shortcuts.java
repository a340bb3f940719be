package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What this process can answer without a call: permits that were leased, and denials that are known. */
final class Shortcuts {

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final RedisState state;
    private final @Nullable DenialCache denials;
    private final @Nullable Purses purses;

    Shortcuts(LimiterSettings settings, RedisCalls calls, RedisState state, StoreOptions options) {
        this.settings = settings;
        this.calls = calls;
        this.state = state;
        this.denials = options.denialCache() ? new DenialCache() : null;
        this.purses = options.leaseTime() == null
                ? null
                : new Purses(settings, calls, new RedisTill(), state, options.leaseTime());
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    boolean leases() {
        return purses != null;
    }

    /** Spends leased permits, without allocating. */
    boolean spendNow(String key, RateLimitPolicy policy, long permits) {
        return purses != null && purses.spendNow(key, calls.ruled(policy), permits);
    }

    /** Spends leased permits; null if they are not here. */
    @Nullable
    Decision spend(String key, RateLimitPolicy policy, long permits) {
        return purses == null ? null : purses.spend(key, calls.ruled(policy), permits);
    }

    /** Spends leased permits, or denies what is known to be denied; null if only Redis knows. */
    @Nullable
    Decision decide(String key, RateLimitPolicy policy, long permits) {
        Decision leased = spend(key, policy, permits);
        if (leased != null || denials == null) {
            return leased;
        }
        DenialCache.Entry known = denials.known(key);
        if (known == null) {
            return null;
        }
        RateLimitPolicy ruled = calls.ruled(policy);
        long missing = purses == null ? permits : permits - purses.left(key, ruled);
        return denials.find(known, key, ruled, permits, missing, now());
    }

    /** What is here and what Redis has. */
    Mono<Decision> look(String key, RateLimitPolicy policy, long permits) {
        return purses == null
                ? calls.decide(state, key, policy, Ask.look(permits))
                : purses.look(key, calls.ruled(policy), permits, ask -> calls.decide(state, key, policy, ask));
    }

    /** Takes in Redis, and some ahead where that is worth it. */
    Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        RateLimitPolicy ruled = calls.ruled(policy);
        return purses == null ? takeInRedis(key, ruled, permits) : purses.take(key, ruled, permits);
    }

    /** Takes in Redis, whatever is here. */
    Mono<Decision> takeInRedis(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> decided = calls.decide(state, key, policy, Ask.take(permits));
        return denials == null ? decided : Mono.defer(() -> decided.doOnNext(learning(key, policy)));
    }

    /** Of what is known of a key, to be read before a call is sent. */
    long generation(String key) {
        return denials == null ? 0 : denials.generation(key);
    }

    /** What a key owes after takes in a call that was sent then, some of which may have been denied. */
    void learn(String key, TakeTerms terms, long owedParts, boolean denied, long generation, long sentNanos) {
        if (denials != null && (denied || denials.size() > 0)) {
            denials.learnLevel(key, terms, owedParts, denied, generation, sentNanos, now());
        }
    }

    /** Where a take that is about to be asked for has to be claimed, if anywhere. */
    @Nullable
    Level level(String key, TakeTerms terms) {
        return denials == null ? null : denials.level(key, terms);
    }

    /** Whether a take that needs Redis may go there by itself, because nothing is here that belongs to it. */
    boolean takesAlone(String key, RateLimitPolicy policy) {
        return purses == null || purses.takesAlone(key, policy);
    }

    /** What a take that went by itself is told: of what is here too; null if it has to be asked for once more. */
    @Nullable
    Decision tookAlone(String key, RateLimitPolicy policy, Decision decided) {
        return purses == null ? decided : purses.tookAlone(key, policy, decided);
    }

    /** To be had before a call is sent, and to be told what Redis decided on a take. */
    Consumer<Decision> learning(String key, RateLimitPolicy policy) {
        if (denials == null) {
            return decision -> {};
        }
        long generation = denials.generation(key);
        long sent = now();
        return decision -> denials.learn(key, policy, decision, generation, sent, now());
    }

    /**
     * The key may have more than was known: from before the call on, since whoever asks behind it in the same pipe
     * finds it done, and until before anybody hears of it, also if the call is given up but ran.
     */
    <T> Mono<T> changing(String key, Mono<T> change) {
        return Mono.defer(() -> {
            forget(key);
            return change.doOnTerminate(() -> forget(key)).doOnCancel(() -> forget(key));
        });
    }

    /** Denials of a key may be true no more, because others changed it. */
    void forget(String key) {
        if (denials != null) {
            denials.forget(key);
        }
    }

    /** {@link #forget} for every key. */
    void forgetAll() {
        if (denials != null) {
            denials.forgetAll();
        }
    }

    /** Another policy rules: nothing that is known of any key holds. */
    void ruledAnew() {
        forgetAll();
        if (purses != null) {
            purses.dropAll();
        }
    }

    /** What was leased of a key was debited from a state that is no more. */
    void drop(String key) {
        if (purses != null) {
            purses.drop(key);
        }
    }

    /** What was leased of a key goes back. */
    void giveBack(String key) {
        if (purses != null) {
            purses.giveBackAll(key);
        }
    }

    /** Keys that are leased now, or may be soon. */
    int leasedKeys() {
        return purses == null ? 0 : purses.size();
    }

    /** Gives back all that was leased. */
    Mono<Void> close() {
        return purses == null ? Mono.empty() : purses.close();
    }

    /** Redis, as the purses see it. */
    private final class RedisTill implements Purses.Till {

        @Override
        public Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
            return takeInRedis(key, policy, permits);
        }

        @Override
        public Mono<Void> giveBack(Debit unspent, Runnable done) {
            return state.giveBack(unspent, done);
        }
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.waiting.Pauses;
import io.github.reactorratelimit.waiting.RemoteDesk;
import io.github.reactorratelimit.waiting.RemoteLines;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter in Redis, and those who wait for them in this process. */
final class RedisState implements LimiterState {

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final Unavailability unavailability;
    private final RemoteLines lines;
    private final Pauses pauses = new Pauses();
    private final @Nullable DenialCache denials;
    private final @Nullable Purses purses;

    RedisState(LimiterSettings settings, RedisCalls calls, Unavailability unavailability, StoreOptions options) {
        this.settings = settings;
        this.calls = calls;
        this.unavailability = unavailability;
        this.denials = options.denialCache() ? new DenialCache() : null;
        this.purses = options.leaseTime() == null
                ? null
                : new Purses(settings, calls, new RedisTill(), this, options.leaseTime());
        this.lines = new RemoteLines(settings);
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Only Redis knows, unless permits were leased. */
    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        return purses != null && !lines.isClosed() && !mustWait(key) && purses.spendNow(key, policy, permits);
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return Mono.defer(() -> {
            Decision atOnce = atOnce(key, policy, permits);
            return atOnce == null ? ask(key, policy, permits) : Mono.just(atOnce);
        });
    }

    private Mono<Decision> ask(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> mustWait(key) ? denyInLine(key, policy, permits) : take(key, policy, permits));
    }

    /** What needs no call, if anything; it may be told on the subscriber's own thread. */
    private @Nullable Decision atOnce(String key, RateLimitPolicy policy, long permits) {
        if (lines.isClosed() || mustWait(key)) {
            return null;
        }
        Decision leased = purses == null ? null : purses.spend(key, policy, permits);
        if (leased != null || denials == null) {
            return leased;
        }
        long missing = purses == null ? permits : permits - purses.left(key, policy);
        return denials.find(key, policy, permits, missing, now());
    }

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> mustWait(key)
                ? denyInLine(key, policy, permits)
                : orLocal(look(key, policy, permits), () -> unavailability.look(key, policy, permits)));
    }

    private Mono<Decision> look(String key, RateLimitPolicy policy, long permits) {
        return purses == null
                ? calls.decide(this, key, policy, Ask.look(permits))
                : purses.look(key, policy, permits, ask -> calls.decide(this, key, policy, ask));
    }

    private boolean mustWait(String key) {
        long pauseEnd = pauses.endOf(key);
        return (pauseEnd != Pauses.NOT_PAUSED && now() < pauseEnd) || lines.hasWaiters(key);
    }

    private Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> taken = purses == null ? takeInRedis(key, policy, permits) : purses.take(key, policy, permits);
        return orLocal(taken, () -> unavailability.decide(key, policy, permits));
    }

    private Mono<Decision> takeInRedis(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> decided = calls.decide(this, key, policy, Ask.take(permits));
        if (denials == null) {
            return decided;
        }
        return Mono.defer(() -> {
            long generation = denials.generation(key);
            long sent = now();
            return decided.doOnNext(decision -> denials.learn(key, policy, decision, generation, sent, now()));
        });
    }

    /** The key may have more than was known: before anybody hears of it, and also if the call is given up but ran. */
    private <T> Mono<T> changing(String key, Mono<T> change) {
        return change.doOnTerminate(() -> forget(key)).doOnCancel(() -> forget(key));
    }

    /** What is known about a key in this process may be true no more, because others changed it. */
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

    /** What was leased of a key goes back, or is dropped if it was debited from a state that is no more. */
    void endLease(String key, boolean dropped) {
        if (purses != null) {
            if (dropped) {
                purses.drop(key);
            } else {
                purses.giveBackAll(key);
            }
        }
    }

    private Mono<Decision> orLocal(Mono<Decision> decided, Supplier<Mono<Decision>> local) {
        return decided.doOnNext(answered -> unavailability.redisAnswered())
                .onErrorResume(RedisUnavailableException.class, unavailable -> local.get());
    }

    /** Behind those who wait here, or after a pause: at least as long as what is asked for takes by itself. */
    private Mono<Decision> denyInLine(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> look = calls.decide(this, key, policy, Ask.look(policy.capacity()));
        return orLocal(look, () -> unavailability.look(key, policy, permits)).map(seen -> {
            long alone = seen.retryAfter().map(Duration::toNanos).orElse(1L);
            long retryAfter = Math.max(alone, pauses.endOf(key) - now());
            Decision.Quota nothingAtOnce = new Decision.Quota(seen.limit(), 0, alone);
            return Decision.deny(seen.policy(), permits, nothingAtOnce, retryAfter);
        });
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        Mono<Decision> wait = lines.await(key, new KeyDesk(key, policy), permits, maxWaitNanos);
        return purses == null
                ? wait
                : Mono.defer(() -> {
                    Decision leased = lines.isClosed() || mustWait(key) ? null : purses.spend(key, policy, permits);
                    return leased == null ? wait : Mono.just(leased);
                });
    }

    /** On a thread that may run the subscriber's code: the connection's must not. */
    private <T> Mono<T> answering(Supplier<Mono<T>> answer) {
        return Mono.defer(() -> lines.isClosed()
                        ? Mono.<T>error(new RateLimiterClosedException(settings.name()))
                        : answer.get())
                .publishOn(settings.callbacks());
    }

    @Override
    public Mono<Void> reset(String key, RateLimitPolicy policy) {
        return answering(() -> changing(key, calls.decide(this, key, policy, Ask.reset()))
                        .doOnTerminate(() -> endLease(key, true))
                        .doOnNext(done -> {
                            pauses.end(key);
                            lines.askAgain(key);
                        }))
                .then();
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return giveBack(debit).publishOn(settings.callbacks());
    }

    private Mono<Void> giveBack(Debit debit) {
        return giveBack(debit, () -> settings.recorder().refunded(debit.permits()));
    }

    private Mono<Void> giveBack(Debit debit, Runnable count) {
        Ask giveBack = Ask.giveBack(debit.permits(), debit.atTick());
        return changing(debit.key(), calls.decide(this, debit.key(), debit.policy(), giveBack))
                .doOnNext(done -> {
                    count.run();
                    lines.askAgain(debit.key());
                })
                .doOnError(lost -> settings.recorder().refundLost(debit.permits()))
                .onErrorComplete(RedisUnavailableException.class)
                .then();
    }

    /** Holds for this process. */
    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return answering(() -> Mono.<Void>fromRunnable(() -> {
            long now = now();
            long longest = Long.MAX_VALUE - Math.max(now, 0);
            boolean fits = duration.compareTo(Duration.ofNanos(longest)) < 0;
            pauses.pause(key, now, fits ? now + duration.toNanos() : Long.MAX_VALUE);
            forget(key);
            endLease(key, false);
            lines.askAgain(key);
        }));
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return answering(() -> {
            endLease(key, false);
            return changing(key, move(key, from, to))
                    .doOnTerminate(() -> endLease(key, true))
                    .doOnNext(done -> lines.askAgain(key))
                    .then();
        });
    }

    private Mono<Decision> move(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return calls.decide(this, key, from, Ask.look(1)).flatMap(seen -> {
            long spent = seen.limit() - seen.remaining();
            return spent == 0
                    ? Mono.just(seen)
                    : calls.decide(this, key, to, Ask.charge(spent)).then(calls.decide(this, key, from, Ask.reset()));
        });
    }

    /** Keys that are leased now, or may be soon. */
    int leasedKeys() {
        return purses == null ? 0 : purses.size();
    }

    @Override
    public Mono<Void> close() {
        Mono<Void> ended = purses == null ? lines.close() : lines.close().then(purses.close());
        return ended.then(unavailability.close());
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }

    /** Redis, as the purses see it. */
    private final class RedisTill implements Purses.Till {

        @Override
        public Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
            return takeInRedis(key, policy, permits);
        }

        @Override
        public Mono<Void> giveBack(Debit unspent) {
            return RedisState.this.giveBack(unspent, () -> {});
        }
    }

    /** One key under one policy, as the lines see it. */
    private final class KeyDesk implements RemoteDesk {

        private final String key;
        private final RateLimitPolicy policy;

        KeyDesk(String key, RateLimitPolicy policy) {
            this.key = key;
            this.policy = policy;
        }

        @Override
        public long now() {
            return RedisState.this.now();
        }

        @Override
        public long pausedUntil() {
            return pauses.endOf(key);
        }

        @Override
        public Mono<Decision> ask(long permits) {
            Decision leased = purses == null ? null : purses.spend(key, policy, permits);
            return leased == null ? take(key, policy, permits) : Mono.just(leased);
        }

        @Override
        public void refund(Debit debit) {
            giveBack(debit).subscribe();
        }

        @Override
        public Decision deny(long permits, long retryAfterNanos) {
            Decision.Quota quota = new Decision.Quota(policy.capacity(), 0, Decision.Quota.UNKNOWN);
            return Decision.deny(policy, permits, quota, retryAfterNanos);
        }
    }
}

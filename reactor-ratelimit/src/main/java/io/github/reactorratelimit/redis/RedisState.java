package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.waiting.Pauses;
import io.github.reactorratelimit.waiting.RemoteDesk;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;

/** The keys of one limiter in Redis, and those who wait for them in this process. */
final class RedisState implements LimiterState {

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final Unavailability unavailability;
    private final Signals signals;
    private final RedisLines lines;

    RedisState(LimiterSettings settings, RedisCalls calls, Unavailability unavailability, Signals signals) {
        this.settings = settings;
        this.calls = calls;
        this.unavailability = unavailability;
        this.signals = signals;
        this.lines = new RedisLines(settings);
        signals.listen(new Ear());
    }

    RedisCalls calls() {
        return calls;
    }

    Unavailability unavailability() {
        return unavailability;
    }

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Only Redis knows. */
    @Override
    public boolean tryAcquireNow(String key, RateLimitPolicy policy, long permits) {
        return false;
    }

    @Override
    public Mono<Decision> evaluate(String key, RateLimitPolicy policy, long permits) {
        return answering(
                () -> lines.hasUnknownWaiters(key) ? denyInLine(key, policy, permits) : take(key, policy, permits));
    }

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return answering(() -> lines.hasUnknownWaiters(key)
                ? denyInLine(key, policy, permits)
                : orDegraded(calls.decide(this, key, policy, Ask.look(permits)), key, policy, permits));
    }

    private Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        return orDegraded(calls.decide(this, key, policy, Ask.take(permits)), key, policy, permits);
    }

    private Mono<Decision> orDegraded(Mono<Decision> decided, String key, RateLimitPolicy policy, long permits) {
        return decided.onErrorResume(
                RedisUnavailableException.class, unavailable -> unavailability.decide(key, policy, permits));
    }

    /** Behind those who wait here: at least as long as the whole limit takes by itself. */
    private Mono<Decision> denyInLine(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> look = calls.decide(this, key, policy, Ask.look(policy.capacity()));
        return orDegraded(look, key, policy, permits).map(seen -> {
            long alone = seen.retryAfter().map(Duration::toNanos).orElse(1L);
            Decision.Quota nothingAtOnce = new Decision.Quota(seen.limit(), 0, alone);
            Decision denied = Decision.deny(seen.policy(), permits, nothingAtOnce, alone);
            return seen.degraded() ? denied.asDegraded() : denied;
        });
    }

    @Override
    public Mono<Decision> await(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return Mono.defer(() -> calls.reserves(policy)
                ? lines.booked().await(key, new SlotDesk(this, key, policy), permits, maxWaitNanos)
                : lines.asking().await(key, new KeyDesk(key, policy), permits, maxWaitNanos));
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
        return answering(() -> calls.decide(this, key, policy, Ask.reset()).doOnNext(done -> {
                    lines.changed(key);
                    signals.publish(Signals.Kind.RESET, key);
                }))
                .then();
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return giveBack(debit).publishOn(settings.callbacks());
    }

    Mono<Void> giveBack(Debit debit) {
        return calls.decide(this, debit.key(), debit.policy(), Ask.giveBack(debit.permits(), debit.atTick()))
                .doOnNext(done -> {
                    settings.recorder().refunded(debit.permits());
                    lines.freed(debit.key());
                    signals.publish(Signals.Kind.FREED, debit.key());
                })
                .doOnError(lost -> settings.recorder().refundLost(debit.permits()))
                .onErrorComplete(RedisUnavailableException.class)
                .then();
    }

    /** Gives back a slot that lies ahead; one that cannot be given back passes by unused. */
    void free(String key, RateLimitPolicy policy, Ask slot) {
        calls.ask(key, policy, slot)
                .subscribe(
                        done -> signals.publish(Signals.Kind.FREED, key),
                        lost -> settings.recorder().refundLost(slot.permits()));
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return answering(() -> {
                    boolean fits = duration.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0;
                    long micros = fits ? -Math.floorDiv(-duration.toNanos(), 1_000) : Ask.UNBOUNDED_MICROS;
                    return calls.ask(key, policy, Ask.pause(micros)).doOnNext(done -> {
                        lines.changed(key);
                        signals.publish(Signals.Kind.PAUSED, key);
                    });
                })
                .then();
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return answering(() -> calls.move(key, from, to).doOnSuccess(done -> {
            lines.asking().askAgain(key);
            if (calls.reserves(to)) {
                lines.booked().replan(key, new SlotDesk(this, key, to));
            }
            signals.publish(Signals.Kind.RESET, key);
        }));
    }

    @Override
    public Mono<Void> close() {
        return lines.close().then(signals.close());
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }

    /** What other processes did may be somebody's turn here. */
    private final class Ear implements Signals.Listener {

        @Override
        public void heard(Signals.Kind kind, String subject) {
            switch (kind) {
                case FREED -> lines.freed(subject);
                case PAUSED, RESET -> lines.changed(subject);
                case EPOCH -> lines.allChanged();
            }
        }

        @Override
        public void reconnected() {
            lines.allChanged();
        }
    }

    /** One key under one policy, as the lines see it. */
    private final class KeyDesk implements RemoteDesk {

        private final String key;
        private final RateLimitPolicy policy;
        private volatile long pausedUntil = Pauses.NOT_PAUSED;

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
            return pausedUntil;
        }

        @Override
        public Mono<Decision> ask(long permits) {
            Ask ask = Ask.take(permits);
            Mono<Decision> decided = calls.ask(key, policy, ask)
                    .doOnNext(answered -> learn(answered.key()))
                    .map(answered -> calls.decision(RedisState.this, key, policy, ask, answered));
            return orDegraded(decided, key, policy, permits);
        }

        private void learn(ScriptReply.KeyStatus status) {
            long micros = status.pausedUntilMicros() - status.nowMicros();
            pausedUntil = micros > 0 ? now() + TimeUnit.MICROSECONDS.toNanos(micros) : Pauses.NOT_PAUSED;
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

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The keys of one limiter in Redis, and their waiters in this process. */
final class RedisLimiterState implements LimiterState {

    private final LimiterSettings settings;
    private final SignalChannel signals;
    private final RedisQueues queues;
    private final PolicyVersions versions;
    private final RedisPermits permits;
    private final Decision spent;
    private volatile Consumer<RateLimitPolicy> policyListener = policy -> {};

    RedisLimiterState(LimiterSettings settings, StoreOptions options, LimiterCommands commands, SignalChannel signals) {
        this.settings = settings;
        this.spent = Decision.spent(settings.policy());
        this.signals = signals;
        this.queues = new RedisQueues(settings);
        this.versions = new PolicyVersions(settings, commands, options.policyEpoch(), signals.isConnected());
        VersionedCommands versioned =
                new VersionedCommands(commands, versions, settings.scheduler(), options.deadline());
        this.permits = new RedisPermits(settings, options, versioned, queues, signals, this);
        // Before anything is heard: what is read because of that must be signalled to the others.
        versions.open(this::policyChanged);
        signals.listen(new SignalListener());
    }

    RedisPermits permits() {
        return permits;
    }

    private boolean mayDecideNow(String key) {
        return !queues.isClosed() && !queues.hasWaiters(key);
    }

    /** Only Redis knows, unless permits are prepaid. */
    @Override
    public @Nullable Decision decideNow(String key, @Nullable RateLimitPolicy override, long count, RequestMode mode) {
        boolean isSpent =
                mode != RequestMode.DEBIT && mayDecideNow(key) && permits.spendPrepaidNow(key, override, count);
        return isSpent ? spent : null;
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long count) {
        return new MonoAcquire(permits, queues, settings.name(), key, override, count);
    }

    @Override
    public Mono<List<Decision>> evaluateTogether(List<KeyRequest> takes) {
        return Mono.defer(() -> {
            boolean mayBeTogether = takes.stream()
                    .allMatch(take ->
                            take.state() instanceof RedisLimiterState state && state.mayAcquireTogether(take.key()));
            return mayBeTogether
                    ? evaluateParts(takes.stream().map(RedisLimiterState::part).toList())
                    : Mono.empty();
        });
    }

    private boolean mayAcquireTogether(String key) {
        return !isClosed() && !queues.hasUnknownWaiters(key);
    }

    private static JointPermits.Part part(KeyRequest take) {
        RedisPermits permits = ((RedisLimiterState) take.state()).permits;
        return new JointPermits.Part(permits, take.key(), take.override(), take.permits());
    }

    private Mono<List<Decision>> evaluateParts(List<JointPermits.Part> parts) {
        return new MonoUncancelled<>(
                JointPermits.acquire(parts), settings.callbacks(), unused -> JointPermits.refundUnused(parts, unused));
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long count) {
        return answering(() -> queues.reserving()
                .behind(key)
                .then(Mono.defer(() -> queues.hasUnknownWaiters(key)
                        ? permits.denyBehindWaiters(key, override, count)
                        : permits.peek(key, override, count))));
    }

    /** Prepaid permits that are not enough are refunded, so that the grant comes as early as it can. */
    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long count, long maxWaitNanos) {
        return Mono.defer(() -> {
            Decision prepaid = mayDecideNow(key) ? permits.spendPrepaid(key, override, count) : null;
            if (prepaid != null) {
                return Mono.just(prepaid);
            }
            permits.refundPrepaid(key);
            LimitedKey limited = limited(key, override);
            return versions.script(override).reserves()
                    ? queues.reserving().await(limited, count, maxWaitNanos)
                    : queues.retrying().await(limited, count, maxWaitNanos);
        });
    }

    LimitedKey limited(String key, @Nullable RateLimitPolicy override) {
        return new LimitedKey(permits, queues, key, override);
    }

    /** On a thread that may run the subscriber's code: the connection's must not. */
    private <T> Mono<T> answering(Supplier<Mono<T>> answer) {
        return Mono.defer(() -> queues.isClosed()
                        ? Mono.<T>error(new RateLimiterClosedException(settings.name()))
                        : answer.get())
                .publishOn(settings.callbacks());
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        return answering(() -> permits.changing(key, permits.send(key, override, Command.reset()))
                .doOnTerminate(() -> permits.dropPrepaid(key))
                .doOnNext(done -> {
                    permits.fallback().pauseShare(share -> share.pause(key, Duration.ZERO));
                    queues.changed(key);
                    signals.publish(SignalChannel.Kind.RESET, key);
                })
                .then());
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return permits.refund(debit).publishOn(settings.callbacks());
    }

    /**
     * Prepaid permits of a key that owes are refunded, so that a debtor does not spend them. Reserved slots
     * stay.
     */
    @Override
    public Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long count, long maxDebt) {
        Command charge = Command.charge(count, maxDebt);
        return permits.send(key, override, charge)
                .map(reply -> {
                    if (reply.remaining() == 0) {
                        permits.refundPrepaid(key);
                    }
                    return count - charge.permits() + reply.count();
                })
                .publishOn(settings.callbacks());
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        long micros = micros(duration);
        return extendOnly
                ? pausing(key, override, Command.pauseAtLeast(micros), share -> share.pauseAtLeast(key, duration))
                : pausing(key, override, Command.pause(micros), share -> share.pause(key, duration));
    }

    /** Rounded up. */
    private static long micros(Duration pause) {
        boolean fits = pause.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0;
        return fits ? -Math.floorDiv(-pause.toNanos(), 1_000) : Command.UNBOUNDED_MICROS;
    }

    private Mono<Void> pausing(
            String key,
            @Nullable RateLimitPolicy override,
            Command pause,
            Function<RateLimiter, Mono<Void>> pauseOfShare) {
        return answering(() -> {
            permits.fallback().pauseShare(pauseOfShare);
            permits.refundPrepaid(key);
            return permits.changing(key, permits.send(key, override, pause))
                    // A batch that was in flight has come before this reply.
                    .doOnTerminate(() -> permits.refundPrepaid(key))
                    .doOnNext(done -> {
                        queues.changed(key);
                        signals.publish(SignalChannel.Kind.PAUSED, key);
                    })
                    .then();
        });
    }

    @Override
    public Mono<Void> migrate(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        return answering(() -> {
            permits.refundPrepaid(key);
            return permits.changing(key, permits.commands().carryOver(key, from, to))
                    .doOnTerminate(() -> permits.dropPrepaid(key))
                    .doOnNext(done -> {
                        LimitedKey limited = limited(key, to);
                        queues.retrying().ifWaiting(key, queue -> queue.reschedule(limited));
                        queues.reserving().ifWaiting(key, queue -> queue.reschedule(limited));
                        signals.publish(SignalChannel.Kind.RESET, key);
                    })
                    .then();
        });
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy to) {
        return answering(() -> {
            versions.check(to);
            return versions.change(to);
        });
    }

    @Override
    public void onPolicyChange(Consumer<RateLimitPolicy> listener) {
        policyListener = listener;
        RateLimitPolicy inEffect = versions.policy(null);
        if (!inEffect.equals(settings.policy())) {
            listener.accept(inEffect);
        }
    }

    private void policyChanged(RateLimitPolicy policy) {
        policyListener.accept(policy);
        permits.policyChanged(policy);
        queues.allChanged();
        signals.publish(SignalChannel.Kind.VERSION, Long.toString(versions.number()));
    }

    @Override
    public Mono<Void> close() {
        return queues.close().then(permits.close()).then(signals.close());
    }

    @Override
    public boolean isClosed() {
        return queues.isClosed();
    }

    /** What other processes did may let waiters here go on. */
    private final class SignalListener implements SignalChannel.Listener {

        @Override
        public void heard(SignalChannel.Kind kind, String subject) {
            if (kind == SignalChannel.Kind.VERSION) {
                versions.heard(subject);
                return;
            }
            permits.forget(subject);
            if (kind == SignalChannel.Kind.FREED) {
                queues.freed(subject);
            } else {
                queues.changed(subject);
            }
        }

        @Override
        public void reconnected() {
            versions.readAgain();
            permits.forgetAll();
            queues.allChanged();
        }
    }
}

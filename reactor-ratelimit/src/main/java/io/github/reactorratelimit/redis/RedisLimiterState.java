package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
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
        signals.listen(this::heard, this::reconnected);
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
        boolean isSpent = mode != RequestMode.DEBIT
                && mayDecideNow(key)
                && permits.prepaid().spendNow(key, versions.script(override), count);
        return isSpent ? spent : null;
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long count) {
        return new MonoAcquire(permits, queues, settings.name(), key, override, count);
    }

    @Override
    public Mono<List<Decision>> evaluateTogether(List<KeyRequest> requests) {
        return Mono.defer(() -> requests.stream().allMatch(RedisLimiterState::mayBeTogether)
                ? new MonoUncancelled<>(
                        acquireTogether(requests), settings.callbacks(), unused -> refundUnused(requests, unused))
                : Mono.empty());
    }

    private static boolean mayBeTogether(KeyRequest request) {
        if (!(request.state() instanceof RedisLimiterState state)
                || state.isClosed()
                || state.queues.hasUnknownWaiters(request.key())) {
            return false;
        }
        ScriptPolicy policy = state.versions.script(request.override());
        return state.permits.commands().isInEffect(policy, request.override())
                && request.permits() <= policy.policy().capacity();
    }

    private static RedisPermits permitsOf(KeyRequest request) {
        return ((RedisLimiterState) request.state()).permits;
    }

    /**
     * The decisions up to the first denial, on the connection's thread; empty if they cannot be made in one
     * call. A call that failed may have run, so nothing is sent again.
     */
    private static Mono<List<Decision>> acquireTogether(List<KeyRequest> requests) {
        return Mono.defer(() -> {
                    long[] generations = requests.stream()
                            .mapToLong(one -> permitsOf(one).denials().generation(one.key()))
                            .toArray();
                    long sentNanos = permitsOf(requests.get(0)).now();
                    return CommandGroup.send(requests.stream()
                                    .map(RedisLimiterState::member)
                                    .toList())
                            .map(replies -> decisions(requests, replies, generations, sentNanos));
                })
                .onErrorResume(
                        RedisUnavailableException.class,
                        unavailable -> Flux.fromIterable(requests)
                                .concatMap(one -> permitsOf(one).degraded(one.key(), one.override(), one.permits()))
                                .takeUntil(decision -> !decision.allowed())
                                .collectList())
                .onErrorComplete(NewerVersionException.class);
    }

    private static CommandGroup.Member member(KeyRequest request) {
        VersionedCommands commands = permitsOf(request).commands();
        ScriptPolicy policy = commands.versions().script(request.override());
        return new CommandGroup.Member(commands.commands(), request.key(), policy, Command.acquire(request.permits()));
    }

    /** If one is denied, those before it debited nothing: nothing changed for their keys. */
    private static List<Decision> decisions(
            List<KeyRequest> requests, List<CommandReply> replies, long[] generations, long sentNanos) {
        int last = replies.size() - 1;
        boolean isDenied = !replies.get(last).allowed();
        List<Decision> decisions = new ArrayList<>();
        for (int i = 0; i <= last; i++) {
            String key = requests.get(i).key();
            RedisPermits permits = permitsOf(requests.get(i));
            if (!isDenied || i == last) {
                permits.learn(key, replies.get(i), generations[i], sentNanos);
            }
            decisions.add(replies.get(i).toDecision(permits.owner(), key));
        }
        if (isDenied) {
            decisions.forEach(decision -> decision.debit().ifPresent(Debit::claim));
        }
        return List.copyOf(decisions);
    }

    private static void refundUnused(List<KeyRequest> requests, List<Decision> unused) {
        for (int i = 0; i < unused.size(); i++) {
            permitsOf(requests.get(i)).refundUnused(unused.get(i));
        }
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
            permits.prepaid().refundNow(key);
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
                .doOnTerminate(() -> permits.prepaid().drop(key))
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
                        permits.prepaid().refundNow(key);
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
            permits.prepaid().refundNow(key);
            return permits.changing(key, permits.send(key, override, pause))
                    // A batch that was in flight has come before this reply.
                    .doOnTerminate(() -> permits.prepaid().refundNow(key))
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
            permits.prepaid().refundNow(key);
            return permits.changing(key, permits.commands().carryOver(key, from, to))
                    .doOnTerminate(() -> permits.prepaid().drop(key))
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
    private void heard(SignalChannel.Kind kind, String subject) {
        if (kind == SignalChannel.Kind.VERSION) {
            versions.heard(subject);
            return;
        }
        permits.denials().forget(subject);
        if (kind == SignalChannel.Kind.FREED) {
            queues.freed(subject);
        } else {
            queues.changed(subject);
        }
    }

    private void reconnected() {
        versions.readAgain();
        permits.denials().forgetAll();
        queues.allChanged();
    }
}

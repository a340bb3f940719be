package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The keys of one limiter in Redis, and those who wait for them in this process. */
final class RedisState implements LimiterState {

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final Unavailability unavailability;
    private final Signals signals;
    private final RedisLines lines;
    private final Shortcuts shortcuts;
    private final CarriedKeys carried = new CarriedKeys();
    private final UnderWay frees = new UnderWay();
    private final Decision spent;
    private volatile Consumer<RateLimitPolicy> ruledAnew = policy -> {};

    RedisState(
            LimiterSettings settings,
            RedisCalls calls,
            Unavailability unavailability,
            Signals signals,
            StoreOptions options) {
        this.settings = settings;
        this.calls = calls;
        this.unavailability = unavailability;
        this.signals = signals;
        this.spent = Decision.spent(settings.policy());
        this.lines = new RedisLines(settings);
        this.shortcuts = new Shortcuts(settings, calls, this, options);
        // Before anything is heard: what is read because of that must be told to the others.
        calls.epochs().open(this::ruledAnew);
        signals.listen(new Ear());
    }

    RedisCalls calls() {
        return calls;
    }

    Unavailability unavailability() {
        return unavailability;
    }

    Shortcuts shortcuts() {
        return shortcuts;
    }

    /** The limiter's first policy stands for the one in effect. */
    RateLimitPolicy named(@Nullable RateLimitPolicy override) {
        return override == null ? settings.policy() : override;
    }

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /** Only Redis knows, unless permits were leased. */
    @Override
    public @Nullable Decision decideNow(
            String key, @Nullable RateLimitPolicy override, long permits, RequestMode mode) {
        RateLimitPolicy policy = named(override);
        boolean isSpent = mode != RequestMode.DEBIT
                && shortcuts.leases()
                && mayTakeShortcut(key)
                && shortcuts.spendNow(key, policy, permits);
        return isSpent ? spent : null;
    }

    private boolean mayTakeShortcut(String key) {
        return !lines.isClosed() && !lines.hasWaiters(key);
    }

    @Override
    public Mono<Decision> evaluate(String key, @Nullable RateLimitPolicy override, long permits) {
        RateLimitPolicy policy = named(override);
        return new MonoTake(this, key, policy, permits);
    }

    /** Answers at once what is known here. */
    void take(TakeAsk ask) {
        boolean isFirst = mayTakeShortcut(ask.key());
        Decision atOnce = isFirst ? shortcuts.decide(ask.key(), ask.policy(), ask.permits()) : null;
        if (atOnce != null) {
            ask.succeed(atOnce);
            return;
        }
        TakePipes takes = isFirst && calls.epochs().isSettled() ? calls.takes(ask.policy()) : null;
        if (takes == null || takes.isUnusual(ask.key()) || !shortcuts.takesAlone(ask.key(), ask.policy())) {
            askWhole(ask);
        } else if (calls.mayCall()) {
            long nowNanos = now();
            calls.epochs().readNowAndThen(nowNanos);
            takes.ask(ask, nowNanos);
        } else {
            ask.failed(RedisCalls.unavailableAMomentAgo());
            deliver(ask);
        }
    }

    /** Asks in a call for the key alone. */
    void askWhole(TakeAsk ask) {
        String key = ask.key();
        ask.follow(unlessClosed(() -> lines.hasUnknownWaiters(key)
                ? denyInLine(key, ask.policy(), ask.permits())
                : take(key, ask.policy(), ask.permits())));
    }

    void deliver(TakeAsk ask) {
        calls.deliveries().add(ask);
        calls.deliveries().deliver(1);
    }

    void giveBackUnused(Decision unused) {
        unused.debit().filter(Debit::claim).ifPresent(debit -> giveBack(debit).subscribe(done -> {}, counted -> {}));
    }

    @Override
    public Mono<Decision> peek(String key, @Nullable RateLimitPolicy override, long permits) {
        RateLimitPolicy policy = named(override);
        return answering(() -> lines.booked().behind(key).then(Mono.defer(() -> lookBehind(key, policy, permits))));
    }

    private Mono<Decision> lookBehind(String key, RateLimitPolicy policy, long permits) {
        return lines.hasUnknownWaiters(key)
                ? denyInLine(key, policy, permits)
                : orLocal(look(key, policy, permits), () -> unavailability.look(key, policy, permits));
    }

    /** Where somebody waits what is here is nobody else's. */
    private Mono<Decision> look(String key, RateLimitPolicy policy, long permits) {
        return lines.hasWaiters(key)
                ? calls.decide(this, key, policy, Ask.look(permits))
                : shortcuts.look(key, policy, permits);
    }

    private Mono<Decision> take(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> taken = lines.hasWaiters(key)
                ? lines.booked().behind(key).then(shortcuts.takeInRedis(key, policy, permits))
                : shortcuts.take(key, policy, permits);
        return orLocal(taken, () -> unavailability.decide(key, policy, permits));
    }

    Mono<Decision> orLocal(Mono<Decision> decided, Supplier<Mono<Decision>> local) {
        return decided.doOnNext(answered -> unavailability.redisAnswered())
                .onErrorResume(RedisUnavailableException.class, unavailable -> local.get());
    }

    @Override
    public Mono<List<Decision>> evaluateTogether(List<KeyRequest> takes) {
        Mono<List<Decision>> asked = Mono.defer(
                        () -> JointCall.of(takes).map(JointCall::send).orElse(Mono.empty()))
                .onErrorResume(RedisUnavailableException.class, unavailable -> degradedTogether(takes))
                .onErrorComplete(NewerEpochException.class);
        return MonoOnce.uncancelled(asked, settings.callbacks(), unused -> JointCall.giveBackUnused(takes, unused));
    }

    /** The call may have run, so nothing is asked again. */
    private static Mono<List<Decision>> degradedTogether(List<KeyRequest> takes) {
        return Flux.fromIterable(takes)
                .concatMap(take -> {
                    RedisState state = (RedisState) take.state();
                    return state.unavailability().decide(take.key(), state.named(take.override()), take.permits());
                })
                .takeUntil(decision -> !decision.allowed())
                .collectList();
    }

    /** False where what is asked alone is not answered by a plain take. */
    boolean mayBeAskedTogether(String key) {
        return !isClosed()
                && !lines.hasUnknownWaiters(key)
                && !calls.breaker().isOpen()
                && calls.epochs().isSettled();
    }

    /** Behind those who wait here: at least as long as the whole limit takes by itself. */
    private Mono<Decision> denyInLine(String key, RateLimitPolicy policy, long permits) {
        Mono<Decision> look = calls.decide(
                        this, key, policy, Ask.look(calls.ruled(policy).capacity()))
                .onErrorResume(
                        PermitsExceedCapacityException.class,
                        fewer -> calls.decide(this, key, policy, Ask.look(fewer.capacity())));
        return orLocal(look, () -> unavailability.look(key, policy, permits)).map(seen -> {
            long alone = seen.retryAfter().map(Duration::toNanos).orElse(1L);
            Decision.Quota nothingAtOnce = new Decision.Quota(seen.limit(), 0, alone);
            Decision denied = Decision.deny(seen.policy(), permits, nothingAtOnce, alone);
            return seen.degradation().map(denied::asDegraded).orElse(denied);
        });
    }

    @Override
    public Mono<Decision> await(String key, @Nullable RateLimitPolicy override, long permits, long maxWaitNanos) {
        RateLimitPolicy policy = named(override);
        return Mono.defer(() -> {
            Decision leased = mayTakeShortcut(key) ? shortcuts.spend(key, policy, permits) : null;
            return leased == null ? awaitTurn(key, policy, permits, maxWaitNanos) : Mono.just(leased);
        });
    }

    /** What is here is not enough; it goes back, and so the turn comes as early as it can. */
    private Mono<Decision> awaitTurn(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        shortcuts.giveBack(key);
        return calls.reserves(policy)
                ? lines.booked().await(new SlotDesk(this, key, policy), permits, maxWaitNanos)
                : awaitUnbooked(key, policy, permits, maxWaitNanos);
    }

    /** Waits without a slot. */
    Mono<Decision> awaitUnbooked(String key, RateLimitPolicy policy, long permits, long maxWaitNanos) {
        return lines.asking().await(new AskingDesk(this, key, policy), permits, maxWaitNanos);
    }

    /** On a thread that may run the subscriber's code: the connection's must not. */
    private <T> Mono<T> answering(Supplier<Mono<T>> answer) {
        return unlessClosed(answer).publishOn(settings.callbacks());
    }

    private <T> Mono<T> unlessClosed(Supplier<Mono<T>> answer) {
        return Mono.defer(
                () -> lines.isClosed() ? Mono.<T>error(new RateLimiterClosedException(settings.name())) : answer.get());
    }

    @Override
    public Mono<Void> reset(String key, @Nullable RateLimitPolicy override) {
        RateLimitPolicy policy = named(override);
        return answering(() -> shortcuts
                        .changing(key, calls.decide(this, key, policy, Ask.reset()))
                        .doOnTerminate(() -> shortcuts.drop(key))
                        .doOnNext(done -> {
                            unavailability.pauseShare(share -> share.pause(key, Duration.ZERO));
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
        return giveBack(debit, () -> settings.recorder().counted(Event.REFUNDED, debit.permits()));
    }

    Mono<Void> giveBack(Debit debit, Runnable count) {
        if (calls.isSuperseded(debit) || carried.isElsewhere(debit)) {
            return refundLost(debit);
        }
        return shortcuts
                .changing(debit.key(), calls.giveBack(debit))
                .doOnNext(answered -> {
                    long lost = answered.answer().waitMicros();
                    if (lost > 0) {
                        settings.recorder().counted(Event.REFUND_LOST, lost);
                    } else {
                        count.run();
                    }
                    lines.freed(debit.key());
                    signals.publish(Signals.Kind.FREED, debit.key());
                })
                .doOnError(lost -> settings.recorder().counted(Event.REFUND_LOST, debit.permits()))
                .switchIfEmpty(refundLost(debit))
                .onErrorComplete(RedisUnavailableException.class)
                .then();
    }

    private <T> Mono<T> refundLost(Debit debit) {
        return Mono.fromRunnable(() -> settings.recorder().counted(Event.REFUND_LOST, debit.permits()));
    }

    /** What is leased of a key that owes goes back, so that no debtor spends it. Slots that were promised stay. */
    @Override
    public Mono<Long> charge(String key, @Nullable RateLimitPolicy override, long permits, long maxDebt) {
        RateLimitPolicy policy = named(override);
        Ask overdraft = Ask.overdraw(permits, maxDebt);
        return calls.ask(key, policy, overdraft)
                .map(answered -> {
                    if (answered.answer().remaining() == 0) {
                        shortcuts.giveBack(key);
                    }
                    return permits - overdraft.permits() + answered.answer().waitMicros();
                })
                .publishOn(settings.callbacks());
    }

    /** Gives back a slot that lies ahead; one that cannot be given back passes by unused. */
    void free(String key, RateLimitPolicy policy, Ask slot) {
        frees.track(shortcuts.changing(key, calls.ask(key, policy, slot)))
                .subscribe(
                        done -> signals.publish(Signals.Kind.FREED, key),
                        lost -> settings.recorder().counted(Event.REFUND_LOST, slot.permits()));
    }

    @Override
    public Mono<Void> pause(String key, @Nullable RateLimitPolicy override, Duration duration, boolean extendOnly) {
        RateLimitPolicy policy = named(override);
        return extendOnly
                ? pausing(key, policy, Ask.pauseAtLeast(micros(duration)), share -> share.pauseAtLeast(key, duration))
                : pausing(key, policy, Ask.pause(micros(duration)), share -> share.pause(key, duration));
    }

    /** Rounded up. */
    private static long micros(Duration pause) {
        boolean fits = pause.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0;
        return fits ? -Math.floorDiv(-pause.toNanos(), 1_000) : Ask.UNBOUNDED_MICROS;
    }

    private Mono<Void> pausing(
            String key, RateLimitPolicy policy, Ask pause, Function<RateLimiter, Mono<Void>> ofShare) {
        return answering(() -> {
                    unavailability.pauseShare(ofShare);
                    shortcuts.giveBack(key);
                    calls.markUnusual(key);
                    return shortcuts
                            .changing(key, calls.ask(key, policy, pause))
                            // A batch that was under way has come before this answer.
                            .doOnTerminate(() -> shortcuts.giveBack(key))
                            .doOnNext(done -> {
                                lines.changed(key);
                                signals.publish(Signals.Kind.PAUSED, key);
                            });
                })
                .then();
    }

    @Override
    public Mono<Void> migrate(
            String key, @Nullable RateLimitPolicy overrideBefore, @Nullable RateLimitPolicy override) {
        RateLimitPolicy from = named(overrideBefore);
        RateLimitPolicy to = named(override);
        return answering(() -> {
            shortcuts.giveBack(key);
            calls.markUnusual(key);
            return shortcuts
                    .changing(key, calls.move(key, from, to).doOnSubscribe(moving -> carried.put(key, to)))
                    .doOnTerminate(() -> shortcuts.drop(key))
                    .doOnSuccess(done -> moved(key, to));
        });
    }

    private void moved(String key, RateLimitPolicy to) {
        lines.asking().ifWaiting(key, queue -> queue.reschedule(new AskingDesk(this, key, to)));
        lines.booked().ifWaiting(key, queue -> queue.replan(new SlotDesk(this, key, to)));
        signals.publish(Signals.Kind.RESET, key);
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy to) {
        return answering(() -> {
            PolicyArguments.of(to, 0);
            return calls.epochs().change(to);
        });
    }

    @Override
    public void onPolicyChange(Consumer<RateLimitPolicy> listener) {
        ruledAnew = listener;
        RateLimitPolicy ruling = calls.ruled(settings.policy());
        if (!ruling.equals(settings.policy())) {
            listener.accept(ruling);
        }
    }

    private void ruledAnew(PolicyEpochs.Rule rule) {
        unavailability.follow(rule.policy());
        ruledAnew.accept(rule.policy());
        shortcuts.ruledAnew();
        lines.allChanged();
        signals.publish(Signals.Kind.EPOCH, Long.toString(rule.epoch()));
    }

    /** Keys that are leased now, or may be soon. */
    int leasedKeys() {
        return shortcuts.leasedKeys();
    }

    @Override
    public Mono<Void> close() {
        return lines.close()
                .then(frees.ended())
                .then(shortcuts.close())
                .then(unavailability.close())
                .then(signals.close());
    }

    @Override
    public boolean isClosed() {
        return lines.isClosed();
    }

    /** What other processes did may be somebody's turn here. */
    private final class Ear implements Signals.Listener {

        @Override
        public void heard(Signals.Kind kind, String subject) {
            if (kind == Signals.Kind.EPOCH) {
                calls.epochs().heard(subject);
                return;
            }
            shortcuts.forget(subject);
            if (kind == Signals.Kind.FREED) {
                lines.freed(subject);
            } else {
                lines.changed(subject);
            }
        }

        @Override
        public void reconnected() {
            calls.epochs().readAnew();
            shortcuts.forgetAll();
            lines.reconnected();
        }
    }
}

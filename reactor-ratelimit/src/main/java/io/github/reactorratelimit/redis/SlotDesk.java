package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.QueuedKey;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * One key under a policy whose slots can be reserved, as its line sees it. Knows where the slots lie on the
 * clock of this process: the server's time of an answer was over when the answer came, so a slot is never
 * used too early, and late by no more than the quickest answer took to come back.
 */
final class SlotDesk implements ReservingKey {

    private static final AtomicReferenceFieldUpdater<SlotDesk, Known> KNOWN =
            AtomicReferenceFieldUpdater.newUpdater(SlotDesk.class, Known.class, "known");

    private final RedisState state;
    private final String key;
    private final RateLimitPolicy policy;

    /** How long a slot may be used without another look at Redis, which may have lost it. */
    static final long HELD_NANOS = Duration.ofMillis(250).toNanos();

    /** Where Redis could not be asked in time: so late a slot is not used any more, or all of an outage would leave together. */
    private static final long LAPSE_NANOS = Duration.ofMillis(500).toNanos();

    private volatile Known known =
            new Known(Long.MAX_VALUE, 0, 0, 0, 0, Long.MIN_VALUE, Long.MIN_VALUE, Last.NONE, Loss.NONE);

    /**
     * What the answers so far have told. They may be worked off in another order than they were given: the one that was asked
     * for last knows best.
     *
     * @param readMicros the server's time of that answer
     * @param askedNanos when it was asked for
     * @param heldUntilNanos until when slots held by the answer before
     * @param last the last slot that this instance holds
     */
    private record Known(
            long offsetNanos,
            long shiftMicros,
            long generation,
            long tailMicros,
            long readMicros,
            long askedNanos,
            long heldUntilNanos,
            Last last,
            Loss loss) {

        Known after(ScriptReply.KeyStatus key, long sentNanos, long nowNanos) {
            long serverNanos = Tick.MICROSECOND.toNanos(key.nowMicros());
            long offset = nowNanos - serverNanos;
            boolean better = offset < offsetNanos || offsetNanos < sentNanos - serverNanos;
            long best = better ? offset : offsetNanos;
            if (sentNanos < askedNanos) {
                return new Known(
                        best, shiftMicros, generation, tailMicros, readMicros, askedNanos, heldUntilNanos, last, loss);
            }
            boolean sameState = key.generation() == generation;
            boolean isLoss = sameState && last.isMissedBy(key, sentNanos);
            return new Known(
                    best,
                    key.shiftMicros(),
                    key.generation(),
                    key.tailMicros(),
                    key.nowMicros(),
                    sentNanos,
                    askedNanos + HELD_NANOS,
                    sameState && !isLoss ? last : Last.NONE,
                    isLoss ? Loss.of(key, sentNanos) : sameState ? loss : Loss.NONE);
        }

        Known holding(Last slot, long ofGeneration) {
            return ofGeneration != generation || slot.baseMicros <= last.baseMicros
                    ? this
                    : new Known(
                            offsetNanos,
                            shiftMicros,
                            generation,
                            tailMicros,
                            readMicros,
                            askedNanos,
                            heldUntilNanos,
                            slot,
                            loss);
        }
    }

    /**
     * Redis went back to an older state of the same generation. What it lost then stays lost, though slots that were
     * reserved since lie behind it.
     *
     * @param askedNanos slots that came later are not lost
     * @param tailMicros the base of the last slot that was not lost
     * @param readMicros the server's time
     */
    private record Loss(long askedNanos, long tailMicros, long readMicros) {

        static final Loss NONE = new Loss(Long.MIN_VALUE, Long.MAX_VALUE, 0);

        static Loss of(ScriptReply.KeyStatus key, long sentNanos) {
            return new Loss(sentNanos, key.tailMicros(), key.nowMicros());
        }
    }

    /** A slot that Redis must know of when it is asked after the slot came. */
    private record Last(long baseMicros, long cameNanos) {

        static final Last NONE = new Last(Long.MIN_VALUE, Long.MAX_VALUE);

        boolean isMissedBy(ScriptReply.KeyStatus key, long sentNanos) {
            return sentNanos > cameNanos
                    && baseMicros > key.tailMicros()
                    && baseMicros + key.shiftMicros() > key.nowMicros();
        }
    }

    SlotDesk(RedisState state, String key, RateLimitPolicy policy) {
        this.state = state;
        this.key = key;
        this.policy = policy;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return state.now();
    }

    @Override
    public Mono<Answer> reserve(long permits, long maxWaitNanos) {
        long maxWaitMicros = maxWaitNanos == LimiterState.UNBOUNDED ? Ask.UNBOUNDED_MICROS : maxWaitNanos / 1_000;
        Ask ask = Ask.reserve(permits, maxWaitMicros, state.calls().instance());
        long sentNanos = now();
        return state.calls()
                .ask(key, policy, ask)
                .map(answered -> answer(ask, answered, sentNanos))
                .onErrorResume(
                        NoSlotsException.class,
                        none -> state.awaitUnbooked(key, policy, permits, maxWaitNanos)
                                .map(Answer::of))
                .onErrorResume(
                        RedisUnavailableException.class,
                        unavailable -> state.unavailability()
                                .decide(key, policy, permits)
                                .map(Answer::of));
    }

    private Answer answer(Ask ask, Answered answered, long sentNanos) {
        learn(answered.key(), sentNanos);
        if (!answered.answer().allowed()) {
            return Answer.of(RedisCalls.denial(ask, answered));
        }
        Slot slot = new Slot(ask.permits(), answered, sentNanos);
        KNOWN.updateAndGet(
                this,
                before -> before.holding(
                        new Last(slot.baseMicros, slot.cameNanos),
                        answered.key().generation()));
        return Answer.of(slot);
    }

    /**
     * The server's time lies between the moment the ask was sent and the one its answer came; what does not fit is of a
     * server clock that was changed.
     */
    private void learn(ScriptReply.KeyStatus key, long sentNanos) {
        state.unavailability().redisAnswered();
        long nowNanos = now();
        KNOWN.updateAndGet(this, before -> before.after(key, sentNanos, nowNanos));
    }

    @Override
    public Mono<Void> refresh() {
        return Mono.defer(() -> {
                    long sentNanos = now();
                    return state.calls()
                            .ask(key, policy, Ask.lookAtSlots(state.calls().instance()))
                            .doOnNext(answered -> learn(answered.key(), sentNanos));
                })
                .then();
    }

    @Override
    public Mono<Void> recheck() {
        return Mono.defer(() -> {
            long sentNanos = now();
            return state.calls()
                    .readSlots(key, policy)
                    .filter(read -> read.generation() != HeldSlots.CLOCK_WENT_BACK)
                    .doOnNext(read -> learn(read, sentNanos))
                    .map(read -> true)
                    .switchIfEmpty(refresh().thenReturn(true))
                    .then();
        });
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit).subscribe(done -> {}, counted -> {});
    }

    @Override
    public Decision deny(long now, long permits, long grantedAt) {
        return state.calls().denyUnasked(policy, permits, QueuedKey.retryAfter(now, grantedAt));
    }

    /** Known by its base, its time less the shift, so that a pause moves it. */
    private final class Slot implements ReservedSlot {

        private final long permits;
        private final Answered answered;
        private final long baseMicros;
        private final long sentNanos;
        private final long cameNanos;

        Slot(long permits, Answered answered, long sentNanos) {
            this.permits = permits;
            this.answered = answered;
            this.sentNanos = sentNanos;
            this.cameNanos = now();
            ScriptReply.KeyStatus status = answered.key();
            this.baseMicros = status.nowMicros() + answered.answer().waitMicros() - status.shiftMicros();
        }

        @Override
        public long permits() {
            return permits;
        }

        @Override
        public long at() {
            return at(known);
        }

        private long at(Known current) {
            return Tick.MICROSECOND.toNanos(atMicros(current)) + current.offsetNanos;
        }

        /** On the clock of the server. */
        private long atMicros(Known current) {
            return baseMicros + current.shiftMicros;
        }

        @Override
        public long order() {
            return baseMicros;
        }

        @Override
        public boolean isVoid() {
            return isVoid(known);
        }

        /** What was due when Redis was asked is not judged by the answer: nothing is stored of slots that have passed. */
        private boolean isVoid(Known current) {
            long at = at(current);
            if (at > confirmedUntil(current) && now() - at > LAPSE_NANOS) {
                return true;
            }
            if (cameNanos >= current.askedNanos) {
                return false;
            }
            boolean ahead = atMicros(current) > current.readMicros;
            return answered.key().generation() == current.generation
                    ? (ahead && baseMicros > current.tailMicros) || isLost(current)
                    : ahead || at > current.heldUntilNanos;
        }

        private boolean isLost(Known current) {
            Loss loss = current.loss;
            return cameNanos < loss.askedNanos && baseMicros > loss.tailMicros && atMicros(current) > loss.readMicros;
        }

        @Override
        public long confirmedUntil() {
            return confirmedUntil(known);
        }

        /** One that is due at once needs no other look. */
        private long confirmedUntil(Known current) {
            return answered.answer().waitMicros() == 0
                    ? Long.MAX_VALUE
                    : Math.max(current.askedNanos, sentNanos) + HELD_NANOS;
        }

        @Override
        public @Nullable Decision use(long now) {
            Known current = known;
            if (at(current) > now || isVoid(current)) {
                return null;
            }
            RateLimitPolicy binding = answered.binding();
            Debit debit = new Debit(state, key, answered.policy().policy(), permits, atMicros(current));
            return Decision.allow(binding, RedisCalls.quota(binding, answered), debit);
        }

        @Override
        public void free() {
            if (isVoid()) {
                return;
            }
            state.free(
                    key,
                    policy,
                    Ask.free(
                            permits,
                            baseMicros,
                            answered.key().generation(),
                            answered.answer().byRefund()));
        }
    }
}

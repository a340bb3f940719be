package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.waiting.Booking;
import io.github.reactorratelimit.waiting.BookingDesk;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * One key under a policy whose slots can be reserved, as its line sees it. Knows where the slots lie on the
 * clock of this process: the server's time of an answer was over when the answer came, so a slot is never
 * used too early, and late by no more than the quickest answer took to come back.
 */
final class SlotDesk implements BookingDesk {

    private static final AtomicReferenceFieldUpdater<SlotDesk, Known> KNOWN =
            AtomicReferenceFieldUpdater.newUpdater(SlotDesk.class, Known.class, "known");

    private final RedisState state;
    private final String key;
    private final RateLimitPolicy policy;

    private volatile Known known = new Known(Long.MAX_VALUE, 0, 0, Long.MIN_VALUE);

    /**
     * What the answers so far have told. They may be worked off in another order than they were given: the one that was asked
     * for last knows best.
     */
    private record Known(long offsetNanos, long shiftMicros, long generation, long askedNanos) {

        Known after(ScriptReply.KeyStatus key, long sentNanos, long nowNanos) {
            long serverNanos = Tick.MICROSECOND.toNanos(key.nowMicros());
            long offset = nowNanos - serverNanos;
            boolean better = offset < offsetNanos || offsetNanos < sentNanos - serverNanos;
            long best = better ? offset : offsetNanos;
            return sentNanos < askedNanos
                    ? new Known(best, shiftMicros, generation, askedNanos)
                    : new Known(best, key.shiftMicros(), key.generation(), sentNanos);
        }
    }

    SlotDesk(RedisState state, String key, RateLimitPolicy policy) {
        this.state = state;
        this.key = key;
        this.policy = policy;
    }

    @Override
    public long now() {
        return state.now();
    }

    @Override
    public Mono<Answer> book(long permits, long maxWaitNanos) {
        long maxWaitMicros = maxWaitNanos == LimiterState.UNBOUNDED ? Ask.UNBOUNDED_MICROS : maxWaitNanos / 1_000;
        Ask ask = Ask.reserve(permits, maxWaitMicros);
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
        return answered.answer().allowed()
                ? Answer.of(new Slot(ask.permits(), answered))
                : Answer.of(RedisCalls.denial(ask, answered));
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
                            .ask(key, policy, Ask.look(1))
                            .doOnNext(answered -> learn(answered.key(), sentNanos));
                })
                .then();
    }

    @Override
    public void refund(Debit debit) {
        state.giveBack(debit).subscribe();
    }

    @Override
    public Decision deny(long permits, long retryAfterNanos) {
        return state.calls().denyUnasked(key, policy, permits, retryAfterNanos);
    }

    /** Known by its base, its time less the shift, so that a pause moves it. */
    private final class Slot implements Booking {

        private final long permits;
        private final Answered answered;
        private final long baseMicros;

        Slot(long permits, Answered answered) {
            this.permits = permits;
            this.answered = answered;
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

        private boolean isVoid(Known current) {
            return answered.key().generation() != current.generation;
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
            state.free(key, policy, Ask.free(permits, baseMicros, answered.key().generation()));
        }
    }
}

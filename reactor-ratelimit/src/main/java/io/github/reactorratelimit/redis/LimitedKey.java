package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import io.github.reactorratelimit.queue.RetryingKey;
import io.github.reactorratelimit.redis.CommandReply.KeyStatus;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A key under a policy, as its queue sees it. Under a policy with slots each waiter reserves one; under
 * others the head requests permits, and requests them again.
 *
 * <p>Knows where the slots lie on the clock of this process: the server's time of a reply has passed when the
 * reply comes, so a slot is never used too early, and late by no more than the quickest reply took to come
 * back. A slot holds only while the state that gave it exists: while the key's generation is the slot's, and the
 * tail of what this instance reserved is not before the slot. Both are read again every 125 ms.
 */
final class LimitedKey implements ReservingKey, RetryingKey {

    /** How long a slot may be used after the key was read: Redis may have lost it since. */
    static final long HELD_NANOS = Duration.ofMillis(250).toNanos();

    /**
     * If Redis could not be read in time, a slot that is so late is not used any more: all slots of an outage
     * would be used at once.
     */
    private static final long LAPSE_NANOS = Duration.ofMillis(500).toNanos();

    private static final AtomicReferenceFieldUpdater<LimitedKey, Known> KNOWN =
            AtomicReferenceFieldUpdater.newUpdater(LimitedKey.class, Known.class, "known");

    private final RedisPermits permits;
    private final RedisQueues queues;
    private final String key;
    private final @Nullable RateLimitPolicy override;

    private volatile Known known = Known.NOTHING;

    /**
     * What the replies so far said. They may be handled in another order than they came: the one that
     * was requested last knows best.
     *
     * @param offsetNanos the time here less the server's
     * @param read what that reply said of the key
     * @param sentNanos when it was requested
     * @param heldUntilNanos until when slots held by the reply before
     * @param last the last slot that this instance holds
     */
    private record Known(long offsetNanos, KeyStatus read, long sentNanos, long heldUntilNanos, Last last, Loss loss) {

        static final Known NOTHING =
                new Known(Long.MAX_VALUE, KeyStatus.plain(0), Long.MIN_VALUE, Long.MIN_VALUE, Last.NONE, Loss.NONE);

        /**
         * The server's time lies between the moment a command was sent and the one its reply came; an offset
         * that does not fit is of a server clock that was changed.
         */
        Known after(KeyStatus key, long sent, long now) {
            long serverNanos = Tick.MICROSECOND.toNanos(key.nowMicros());
            long offset = now - serverNanos;
            boolean isBetter = offset < offsetNanos || offsetNanos < sent - serverNanos;
            long best = isBetter ? offset : offsetNanos;
            if (sent < sentNanos) {
                return new Known(best, read, sentNanos, heldUntilNanos, last, loss);
            }
            long heldUntil = sentNanos + HELD_NANOS;
            if (key.generation() != read.generation()) {
                return new Known(best, key, sent, heldUntil, Last.NONE, Loss.NONE);
            }
            return last.isMissedBy(key, sent)
                    ? new Known(best, key, sent, heldUntil, Last.NONE, new Loss(sent, key))
                    : new Known(best, key, sent, heldUntil, last, loss);
        }

        Known holding(Last slot, long ofGeneration) {
            return ofGeneration != read.generation() || slot.baseMicros <= last.baseMicros
                    ? this
                    : new Known(offsetNanos, read, sentNanos, heldUntilNanos, slot, loss);
        }
    }

    /**
     * Redis went back to an older state of the same generation. What it lost then stays lost, though slots
     * that were reserved since lie behind it.
     *
     * @param sentNanos slots that came later are not lost
     * @param read what was read then; its tail is the base of the last slot that was not lost
     */
    private record Loss(long sentNanos, KeyStatus read) {

        static final Loss NONE = new Loss(Long.MIN_VALUE, KeyStatus.plain(0));
    }

    /** A slot that Redis must know of when it is read after the slot came. */
    private record Last(long baseMicros, long cameNanos) {

        static final Last NONE = new Last(Long.MIN_VALUE, Long.MAX_VALUE);

        boolean isMissedBy(KeyStatus key, long sentNanos) {
            return sentNanos > cameNanos
                    && baseMicros > key.tailMicros()
                    && baseMicros + key.shiftMicros() > key.nowMicros();
        }
    }

    LimitedKey(RedisPermits permits, RedisQueues queues, String key, @Nullable RateLimitPolicy override) {
        this.permits = permits;
        this.queues = queues;
        this.key = key;
        this.override = override;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return permits.now();
    }

    @Override
    public Mono<?> reserve(long count, long maxWaitNanos) {
        long maxWaitMicros = maxWaitNanos == LimiterState.UNBOUNDED ? Command.UNBOUNDED_MICROS : maxWaitNanos / 1_000;
        Command reserve = Command.reserve(count, maxWaitMicros, permits.instance());
        long sentNanos = now();
        return permits.reserve(key, override, reserve)
                .<Object>map(reply -> answer(reply, sentNanos))
                .switchIfEmpty(Mono.fromSupplier(() -> queues.retrying().await(this, count, maxWaitNanos)))
                .onErrorResume(RedisUnavailableException.class, unavailable -> permits.degraded(key, override, count));
    }

    private Object answer(CommandReply reply, long sentNanos) {
        learn(reply.key(), sentNanos);
        if (!reply.allowed()) {
            return reply.toDecision(permits.owner(), key);
        }
        RedisSlot slot = new RedisSlot(reply, sentNanos);
        Last last = new Last(slot.baseMicros, slot.cameNanos);
        KNOWN.updateAndGet(this, before -> before.holding(last, reply.key().generation()));
        return slot;
    }

    private void learn(KeyStatus status, long sentNanos) {
        long nowNanos = now();
        KNOWN.updateAndGet(this, before -> before.after(status, sentNanos, nowNanos));
    }

    @Override
    public Mono<Void> refresh() {
        return Mono.defer(() -> {
                    long sentNanos = now();
                    return permits.send(key, override, Command.peekAtSlots(permits.instance()))
                            .doOnNext(reply -> learn(reply.key(), sentNanos));
                })
                .then();
    }

    @Override
    public Mono<Decision> request(long count) {
        Decision prepaid = permits.spendPrepaid(key, override, count);
        long sentNanos = now();
        return prepaid == null
                ? permits.acquire(key, override, count, reply -> learn(reply.key(), sentNanos))
                : Mono.just(prepaid);
    }

    @Override
    public long pausedUntil() {
        Known current = known;
        KeyStatus read = current.read;
        return read.pauseEndMicros() > read.nowMicros()
                ? Tick.MICROSECOND.toNanos(read.pauseEndMicros()) + current.offsetNanos
                : KeyQueues.NOT_PAUSED;
    }

    @Override
    public long queueCapacity() {
        return permits.policy(override).queueCapacity();
    }

    @Override
    public void refund(Debit debit) {
        permits.refundAside(debit);
    }

    @Override
    public Decision deny(long now, long count, long grantedAt) {
        return Decision.deny(permits.policy(override), count, QueuedKey.retryAfter(now, grantedAt));
    }

    /** Known by its base, its time less the shift, so that a pause moves it. */
    private final class RedisSlot implements Slot {

        private final CommandReply reply;
        private final long baseMicros;
        private final long sentNanos;
        private final long cameNanos;

        RedisSlot(CommandReply reply, long sentNanos) {
            this.reply = reply;
            this.sentNanos = sentNanos;
            this.cameNanos = now();
            this.baseMicros = reply.slotBaseMicros();
        }

        @Override
        public long permits() {
            return reply.command().permits();
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
            return baseMicros + current.read.shiftMicros();
        }

        @Override
        public long order() {
            return baseMicros;
        }

        @Override
        public boolean isVoid() {
            return isVoid(known);
        }

        /**
         * A slot that was due when Redis was read is not judged by that: nothing is stored of slots that have
         * passed.
         */
        private boolean isVoid(Known current) {
            long at = at(current);
            if (at > confirmedUntil(current) && now() - at > LAPSE_NANOS) {
                return true;
            }
            if (cameNanos >= current.sentNanos) {
                return false;
            }
            boolean isAhead = atMicros(current) > current.read.nowMicros();
            return reply.key().generation() == current.read.generation()
                    ? (isAhead && baseMicros > current.read.tailMicros()) || isLost(current)
                    : isAhead || at > current.heldUntilNanos;
        }

        private boolean isLost(Known current) {
            Loss loss = current.loss;
            return cameNanos < loss.sentNanos
                    && baseMicros > loss.read.tailMicros()
                    && atMicros(current) > loss.read.nowMicros();
        }

        @Override
        public long confirmedUntil() {
            return confirmedUntil(known);
        }

        /** One that is due at once needs no other look. */
        private long confirmedUntil(Known current) {
            return reply.waitMicros() == 0 ? Long.MAX_VALUE : Math.max(current.sentNanos, sentNanos) + HELD_NANOS;
        }

        @Override
        public @Nullable Decision use(long now) {
            Known current = known;
            if (at(current) > now || isVoid(current)) {
                return null;
            }
            Debit debit = new Debit(permits.owner(), key, reply.policy().policy(), permits(), atMicros(current));
            return Decision.allow(reply.binding(), reply.remaining(), reply.resetNanos(), reply.moreNanos(), debit);
        }

        @Override
        public void free() {
            if (!isVoid()) {
                permits.freeSlot(key, reply);
            }
        }
    }
}

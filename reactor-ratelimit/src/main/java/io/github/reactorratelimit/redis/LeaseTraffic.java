package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** The batches on their way: from Redis to the purses, and what was not spent back again. */
final class LeaseTraffic {

    /** Batches that go back at the same time. */
    private static final int RETURNS_AT_A_TIME = 64;

    /** Where Redis has less than was asked for, the next batch is asked for after one of so many of a lease time. */
    private static final int SCARCE_REFILLS_PER_LEASE = 64;

    /** As above, where a batch did not come. */
    private static final int FAILED_REFILLS_PER_LEASE = 4;

    private final LimiterSettings settings;
    private final RedisCalls calls;
    private final Object owner;
    private final BiFunction<Debit, Runnable, Mono<Void>> toRedis;
    private final long leaseNanos;
    private final Errands returns = new Errands(RETURNS_AT_A_TIME);
    private final AtomicInteger underWay = new AtomicInteger();
    private final Sinks.Empty<Void> settled = Sinks.empty();
    private volatile boolean closed;

    /** @param toRedis gives back a debit, which belongs to {@code owner}, and runs what it is given if that is back */
    LeaseTraffic(
            LimiterSettings settings,
            RedisCalls calls,
            Object owner,
            BiFunction<Debit, Runnable, Mono<Void>> toRedis,
            long leaseNanos) {
        this.settings = settings;
        this.calls = calls;
        this.owner = owner;
        this.toRedis = toRedis;
        this.leaseNanos = leaseNanos;
    }

    private long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    boolean isClosed() {
        return closed;
    }

    /** Asks for a batch, unless one is under way. */
    void refill(Purse purse, long now) {
        if (closed || !purse.beginRefill()) {
            return;
        }
        long wanted = purse.nextBatch(now);
        if (wanted < 1) {
            purse.endRefill(now);
            return;
        }
        underWay.incrementAndGet();
        calls.ask(purse.key(), purse.policy(), Ask.takeUpTo(wanted))
                .subscribe(
                        answered -> refilled(purse, wanted, now, answered),
                        failed -> refillFailed(purse, wanted, failed));
    }

    private void refillFailed(Purse purse, long wanted, Throwable failed) {
        if (failed instanceof RedisUnavailableException unavailable && unavailable.isUnanswered()) {
            strand(Event.PREPAID_UNANSWERED, wanted);
        }
        refillEnded(purse, now() + leaseNanos / FAILED_REFILLS_PER_LEASE);
    }

    private void strand(Event how, long permits) {
        if (permits > 0) {
            settings.recorder().counted(how, permits);
        }
    }

    /** Closes batches that are out of the purse and cannot go back. */
    void lose(List<Batch> batches) {
        batches.forEach(batch -> strand(Event.PREPAID_LOST, batch.close()));
    }

    private void refilled(Purse purse, long wanted, long sentNanos, Answered answered) {
        ScriptReply.Answer answer = answered.answer();
        long taken = answer.waitMicros();
        long resetAt = now() + Tick.MICROSECOND.toNanos(answer.resetMicros());
        purse.learn(answered.binding(), answer.remaining(), resetAt);
        if (taken > 0) {
            giveBackRest(purse, purse.add(new Batch(taken, answered.key().nowMicros(), sentNanos)));
        }
        if (closed) {
            giveBackRest(purse, purse.empty());
        }
        refillEnded(purse, taken < wanted ? sentNanos + leaseNanos / SCARCE_REFILLS_PER_LEASE : sentNanos);
    }

    private void refillEnded(Purse purse, long notBeforeNanos) {
        purse.endRefill(notBeforeNanos);
        ended();
    }

    /** Closes batches that are out of the purse, and gives back what was left. */
    void giveBackRest(Purse purse, List<Batch> batches) {
        for (Batch batch : batches) {
            long rest = batch.close();
            if (rest > 0) {
                giveBack(purse, rest, batch);
            }
        }
    }

    void giveBack(Purse purse, Held held) {
        held.parts().forEach(part -> giveBack(purse, part.permits(), part.batch()));
    }

    void giveBack(Purse purse, long permits, Batch batch) {
        underWay.incrementAndGet();
        boolean expired = batch.isOver(now(), leaseNanos);
        Debit unspent = new Debit(owner, purse.key(), purse.policy(), permits, batch.atMicros());
        AtomicBoolean back = new AtomicBoolean();
        returns.add(toRedis.apply(unspent, () -> back.set(true)).doOnTerminate(() -> {
            if (!back.get()) {
                strand(Event.PREPAID_LOST, permits);
            } else if (expired) {
                strand(Event.PREPAID_EXPIRED, permits);
            }
            ended();
        }));
    }

    private void ended() {
        if (underWay.decrementAndGet() == 0 && closed) {
            settled.tryEmitEmpty();
        }
    }

    /** Nothing is asked for any more; completes when all that was under way has come, and has gone back. */
    Mono<Void> close(Iterable<Purse> purses) {
        return Mono.defer(() -> {
            underWay.incrementAndGet();
            closed = true;
            purses.forEach(purse -> giveBackRest(purse, purse.empty()));
            ended();
            return settled.asMono();
        });
    }
}

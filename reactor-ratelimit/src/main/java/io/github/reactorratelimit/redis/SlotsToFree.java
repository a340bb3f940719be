package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/**
 * Frees reserved slots that no waiter needs. A command that surely did not run is sent again until Redis
 * answers. One that may have run is not: freed twice, a slot would give its permits back twice.
 */
final class SlotsToFree {

    /** More slots than that pass unused if Redis is unavailable. */
    static final int MOST = 1 << 16;

    private final LimiterSettings settings;
    private final LimiterCommands commands;
    private final Function<Slot, Mono<?>> send;
    private final Queue<Slot> unsent = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final AtomicBoolean isScheduled = new AtomicBoolean();
    private volatile boolean isClosed;

    /**
     * One of them.
     *
     * @param policy under which it was reserved
     * @param free frees it
     */
    record Slot(String key, RateLimitPolicy policy, Command free) {}

    SlotsToFree(LimiterSettings settings, LimiterCommands commands, Function<Slot, Mono<?>> send) {
        this.settings = settings;
        this.commands = commands;
        this.send = send;
    }

    void free(String key, CommandReply reserved) {
        Command free = Command.freeSlot(
                reserved.command().permits(),
                reserved.slotBaseMicros(),
                reserved.key().generation(),
                reserved.byRefund());
        free(new Slot(key, reserved.policy().policy(), free));
    }

    private void free(Slot slot) {
        send.apply(slot).subscribe(freed -> {}, error -> failed(slot, error));
    }

    private void failed(Slot slot, Throwable error) {
        boolean didNotRun = error instanceof RedisUnavailableException unavailable && !unavailable.isUnanswered();
        if (!didNotRun || isClosed || count.get() >= MOST) {
            settings.recorder().counted(Event.REFUND_LOST, slot.free().permits());
        } else {
            keep(slot);
            sendAgainLater();
        }
    }

    private void sendAgainLater() {
        if (!isScheduled.get() && isScheduled.compareAndSet(false, true)) {
            try {
                settings.scheduler()
                        .schedule(this::sendAgain, LimiterCommands.PROBE_EVERY.toNanos(), TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException disposed) {
                isScheduled.set(false);
            }
        }
    }

    private void sendAgain() {
        isScheduled.set(false);
        ReplyExecutor.deferringFlush(this::sendToAvailable);
        if (!unsent.isEmpty()) {
            sendAgainLater();
        }
    }

    /** The first one in any case: it may be the probe that an unavailable node needs. */
    private void sendToAvailable() {
        boolean isFirst = true;
        for (int left = count.get(); left > 0; left--) {
            Slot slot = unsent.poll();
            if (slot == null) {
                return;
            }
            count.decrementAndGet();
            if (isFirst || commands.answers(slot.key())) {
                free(slot);
            } else {
                keep(slot);
            }
            isFirst = false;
        }
    }

    private void keep(Slot slot) {
        count.incrementAndGet();
        unsent.offer(slot);
        if (isClosed) {
            sendAll();
        }
    }

    /** Tries once more to free all of them. */
    void close() {
        isClosed = true;
        ReplyExecutor.deferringFlush(this::sendAll);
    }

    private void sendAll() {
        for (Slot slot = unsent.poll(); slot != null; slot = unsent.poll()) {
            count.decrementAndGet();
            free(slot);
        }
    }
}

package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * The lines of one limiter: a line for each key that somebody waits for, and nothing for the others.
 *
 * <p>Nothing here runs a subscriber's code but {@link #signal}, which hands it to the scheduler: a
 * slow subscriber delays itself, not the line. A request that can be answered when it is made is
 * answered on its own thread.
 */
public final class WaitLines {

    private final LimiterSettings settings;
    private final LineTimer timer;
    private final Map<String, WaitLine> lines = new ConcurrentHashMap<>();

    /** Requests that stood in line and whose subscribers have not yet been told, or have not left. */
    private final AtomicInteger pending = new AtomicInteger();

    private final AtomicLong ids = new AtomicLong();
    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    public WaitLines(LimiterSettings settings) {
        this.settings = settings;
        this.timer = new LineTimer(settings.scheduler(), this::closeNow);
    }

    /** Waits in line at {@code desk} for the permits of {@code key}. */
    public Mono<Decision> await(String key, Desk desk, long permits, long maxWaitNanos) {
        return new MonoAwait(this, key, desk, permits, maxWaitNanos);
    }

    /** Whether somebody waits for the key: then nobody may overtake. */
    public boolean hasWaiters(String key) {
        if (lines.isEmpty()) {
            return false;
        }
        WaitLine line = lines.get(key);
        return line != null && line.length() > 0;
    }

    /** When permits could be had behind those who wait, {@link Algorithm#UNKNOWN} if nobody can know. */
    public long grantedAt(String key, Desk desk, long now, long permits) {
        long notBefore = Math.max(now, desk.pausedUntil());
        WaitLine line = lines.get(key);
        if (line != null && line.length() > 0) {
            return line.preview(notBefore, permits);
        }
        long wait = desk.waitNanos(notBefore, permits);
        return wait == Algorithm.UNKNOWN ? wait : notBefore + wait;
    }

    /** Permits came back: perhaps it is somebody's turn. */
    public void poke(String key) {
        WaitLine line = lines.isEmpty() ? null : lines.get(key);
        if (line != null) {
            line.poke();
        }
    }

    /** The key's pause, state or policy changed: those who wait for it are timed anew at {@code desk}. */
    public void replan(String key, Desk desk) {
        WaitLine line = lines.get(key);
        if (line != null) {
            line.replan(desk);
        }
    }

    /** Requests in all lines; those already answered count until their subscribers were told. */
    public int pending() {
        return pending.get();
    }

    public boolean isClosed() {
        return closed;
    }

    /** Fails everyone who waits, and completes when the last of them was told. */
    public Mono<Void> close() {
        return Mono.defer(() -> {
            closeNow();
            return emptied.asMono();
        });
    }

    private void closeNow() {
        closed = true;
        lines.values().forEach(WaitLine::poke);
        completeIfEmptied();
    }

    RateLimiterClosedException closedException() {
        return new RateLimiterClosedException(settings.name());
    }

    RateLimitRecorder recorder() {
        return settings.recorder();
    }

    LineTimer timer() {
        return timer;
    }

    int maxWaiters() {
        return settings.maxWaiters();
    }

    /** On the subscriber's own thread: answered at once if that is possible, else it joins the line. */
    void ask(Waiter waiter) {
        if (closed) {
            waiter.failAtOnce(closedException());
            return;
        }
        long now = waiter.desk.now();
        waiter.arriveAt(now);
        Decision atOnce = answerAtOnce(waiter, now);
        if (atOnce != null) {
            waiter.answerAtOnce(atOnce);
        } else {
            join(waiter);
        }
    }

    private @Nullable Decision answerAtOnce(Waiter waiter, long now) {
        Desk desk = waiter.desk;
        if (now >= desk.pausedUntil() && !hasWaiters(waiter.key)) {
            Decision decision = desk.debit(now, waiter.permits);
            if (decision.allowed()) {
                return decision;
            }
        }
        if (!waiter.hasDeadline()) {
            return null;
        }
        long grantedAt = grantedAt(waiter.key, desk, now, waiter.permits);
        boolean tooLong = grantedAt != Algorithm.UNKNOWN && grantedAt > waiter.notAfter;
        return tooLong ? desk.deny(now, waiter.permits, grantedAt) : null;
    }

    private void join(Waiter waiter) {
        pending.incrementAndGet();
        recorder().waitStarted();
        for (; ; ) {
            WaitLine line = lines.computeIfAbsent(
                    waiter.key, key -> new WaitLine(this, ids.incrementAndGet(), key, waiter.desk));
            if (line.join(waiter)) {
                return;
            }
            lines.remove(waiter.key, line);
        }
    }

    void leave(Waiter waiter) {
        WaitLine line = lines.get(waiter.key);
        if (line != null) {
            line.leave(waiter);
        }
    }

    void remove(WaitLine line) {
        lines.remove(line.key(), line);
    }

    /** A scheduler that takes no more tasks cannot run the subscriber's code; then nobody else can. */
    void signal(Waiter waiter) {
        try {
            settings.scheduler().schedule(waiter);
        } catch (RejectedExecutionException gone) {
            waiter.run();
        }
    }

    /** A request that stood in line has been told, or has left. */
    void departed() {
        pending.decrementAndGet();
        completeIfEmptied();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }
}

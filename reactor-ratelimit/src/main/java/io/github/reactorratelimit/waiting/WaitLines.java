package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The lines of one limiter whose state is in this process: a line for each key that somebody waits
 * for, and nothing for the others. A request that can be answered when it is made is answered on its
 * own thread.
 */
public final class WaitLines extends WaitingRoom {

    private final Map<String, WaitLine> lines = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();

    public WaitLines(LimiterSettings settings) {
        super(settings);
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

    @Override
    void ask(Waiter waiter) {
        if (isClosed()) {
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
        entered();
        for (; ; ) {
            WaitLine line = lines.computeIfAbsent(
                    waiter.key, key -> new WaitLine(this, ids.incrementAndGet(), key, waiter.desk));
            if (line.join(waiter)) {
                return;
            }
            lines.remove(waiter.key, line);
        }
    }

    @Override
    void leave(Waiter waiter) {
        WaitLine line = lines.get(waiter.key);
        if (line != null) {
            line.leave(waiter);
        }
    }

    @Override
    void giveBack(Waiter waiter, Debit debit) {
        waiter.desk.refund(debit);
    }

    @Override
    void pokeAll() {
        lines.values().forEach(WaitLine::poke);
    }

    void remove(WaitLine line) {
        lines.remove(line.key(), line);
    }
}

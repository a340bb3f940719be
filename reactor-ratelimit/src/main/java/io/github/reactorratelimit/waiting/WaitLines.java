package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The lines of one limiter whose state is in this process: a line for each key that somebody waits
 * for, and nothing for the others. A request that can be answered when it is made is answered on its
 * own thread.
 */
public final class WaitLines extends WaitingRoom<WaitLine> {

    public WaitLines(LimiterSettings settings) {
        super(settings);
    }

    /** Waits in line at {@code desk} for the permits of {@code key}. */
    public Mono<Decision> await(String key, Desk desk, long permits, long maxWaitNanos) {
        return new MonoAwait(this, new AtDesk(key, desk), permits, maxWaitNanos);
    }

    /**
     * An answer that needs no waiting, given when it is demanded. What it took is given back unless it is
     * handed to the subscriber.
     */
    public Mono<Decision> atOnce(Desk desk, Supplier<Decision> answer) {
        return new MonoAwait(this, new AtOnce(desk, answer), 0, 0);
    }

    private final class AtOnce implements Place {

        private final Desk desk;
        private final Supplier<Decision> answer;

        AtOnce(Desk desk, Supplier<Decision> answer) {
            this.desk = desk;
            this.answer = answer;
        }

        @Override
        public void ask(Waiter waiter) {
            if (isClosed()) {
                waiter.failAtOnce(closedException());
            } else {
                waiter.answerAtOnce(answer.get());
            }
        }

        @Override
        public void leave(Waiter waiter) {}

        @Override
        public long now() {
            return desk.now();
        }

        @Override
        public void giveBack(Debit debit) {
            desk.refund(debit);
        }
    }

    /** When permits could be had behind those who wait, {@link Algorithm#UNKNOWN} if nobody can know. */
    public long grantedAt(String key, Desk desk, long now, long permits) {
        long notBefore = Math.max(now, desk.pausedUntil());
        WaitLine line = line(key);
        if (line != null) {
            return line.preview(notBefore, permits);
        }
        long wait = desk.waitNanos(notBefore, permits);
        return wait == Algorithm.UNKNOWN ? wait : notBefore + wait;
    }

    /** Permits came back: perhaps it is somebody's turn. */
    public void permitsCameBack(String key) {
        WaitLine line = line(key);
        if (line != null) {
            line.permitsCameBack();
        }
    }

    /** The key's pause, state or policy changed: those who wait for it are timed anew at {@code desk}. */
    public void replan(String key, Desk desk) {
        WaitLine line = line(key);
        if (line != null) {
            line.replan(desk);
        }
    }

    /** The policy of any key may have changed: those who wait are timed anew. */
    public void replanAll() {
        forEachLine(WaitLine::replan);
    }

    private final class AtDesk implements Place {

        private final String key;
        private final Desk desk;

        AtDesk(String key, Desk desk) {
            this.key = key;
            this.desk = desk;
        }

        @Override
        public void ask(Waiter waiter) {
            if (isClosed()) {
                waiter.failAtOnce(closedException());
                return;
            }
            long now = desk.now();
            waiter.arriveAt(now);
            Decision atOnce = answerAtOnce(waiter, now);
            if (atOnce != null) {
                waiter.answerAtOnce(atOnce);
            } else {
                join(key, waiter, (name, id) -> new WaitLine(WaitLines.this, id, name, desk));
            }
        }

        private @Nullable Decision answerAtOnce(Waiter waiter, long now) {
            if (now >= desk.pausedUntil() && !hasWaiters(key)) {
                Decision decision = desk.debitOnArrival(now, waiter.permits);
                if (decision.allowed()) {
                    return decision;
                }
            }
            if (!waiter.hasDeadline()) {
                return null;
            }
            long grantedAt = grantedAt(key, desk, now, waiter.permits);
            boolean tooLong = grantedAt != Algorithm.UNKNOWN && grantedAt > waiter.notAfter;
            return tooLong ? desk.deny(now, waiter.permits, grantedAt) : null;
        }

        @Override
        public void leave(Waiter waiter) {
            WaitLines.this.leave(key, waiter);
        }

        @Override
        public void told(Debit debit) {
            desk.told(debit);
        }

        @Override
        public long now() {
            return desk.now();
        }

        @Override
        public void giveBack(Debit debit) {
            desk.refund(debit);
        }
    }
}

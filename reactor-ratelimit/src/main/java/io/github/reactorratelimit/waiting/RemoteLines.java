package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import reactor.core.publisher.Mono;

/** The lines of one limiter whose state is elsewhere: a line for each key that somebody waits for here. */
public final class RemoteLines extends WaitingRoom<RemoteLine> {

    public RemoteLines(LimiterSettings settings) {
        super(settings);
    }

    /** Waits in line at {@code desk} for the permits of {@code key}. */
    public Mono<Decision> await(String key, RemoteDesk desk, long permits, long maxWaitNanos) {
        return new MonoAwait(this, new AtDesk(key, desk), permits, maxWaitNanos);
    }

    /** Permits came back, or a pause changed: perhaps it is somebody's turn. */
    public void askAgain(String key) {
        RemoteLine line = line(key);
        if (line != null) {
            line.askAgain();
        }
    }

    /** The key has another policy: those who wait for it ask at {@code desk}. */
    public void replan(String key, RemoteDesk desk) {
        RemoteLine line = line(key);
        if (line != null) {
            line.replan(desk);
        }
    }

    /** Any key may have changed: perhaps it is somebody's turn. */
    public void askAgainAll() {
        forEachLine(RemoteLine::askAgain);
    }

    private final class AtDesk implements Place {

        private final String key;
        private final RemoteDesk desk;

        AtDesk(String key, RemoteDesk desk) {
            this.key = key;
            this.desk = desk;
        }

        @Override
        public void ask(Waiter waiter) {
            if (isClosed()) {
                waiter.failAtOnce(closedException());
                return;
            }
            waiter.arriveAt(desk.now());
            join(key, waiter, (name, id) -> new RemoteLine(RemoteLines.this, id, name, desk));
        }

        @Override
        public void leave(Waiter waiter) {
            RemoteLines.this.leave(key, waiter);
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

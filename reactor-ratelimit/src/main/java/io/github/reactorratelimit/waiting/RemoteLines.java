package io.github.reactorratelimit.waiting;

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
        Place place = new DistantPlace<>(this, key, desk, (name, id) -> new RemoteLine(this, id, name, desk));
        return new MonoAwait(this, place, permits, maxWaitNanos);
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
}

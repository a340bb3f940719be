package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.examples.playground.EventLog;
import io.github.reactorratelimit.examples.playground.fragile.Frame.Side;
import io.github.reactorratelimit.examples.playground.fragile.Frame.What;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** One copy of the server, and the calls to it. Every call ends in the log exactly once. */
final class Copy {

    /** In the place of the call: the server does not know which one reaches it. */
    private static final long UNNAMED = 0;

    private final Side side;
    private final Client client;
    private final EventLog log;
    private final FragileServer server;
    private final Disposable.Composite calls = Disposables.composite();

    Copy(Side side, Client client, Settings settings, Scheduler scheduler, EventLog log) {
        this.side = side;
        this.client = client;
        this.log = log;
        this.server = new FragileServer(settings, scheduler, () -> add(What.SENT, UNNAMED));
    }

    void call(long number, Settings settings) {
        Disposable.Swap mine = Disposables.swap();
        calls.add(mine);
        mine.update(client.call(server, settings.retries())
                .doFinally(end -> calls.remove(mine))
                .subscribe(nothing -> {}, failure -> add(endOf(failure), number), () -> add(What.GOOD, number)));
    }

    private static What endOf(Throwable failure) {
        if (failure instanceof RateLimitExceededException) {
            return What.TURNED_AWAY;
        }
        return failure instanceof WebClientResponseException answer
                        && answer.getStatusCode() == HttpStatus.TOO_MANY_REQUESTS
                ? What.REFUSED
                : What.FAILED;
    }

    private void add(What what, long number) {
        log.add(side.code, what.code, number);
    }

    FragileServer server() {
        return server;
    }

    void close() {
        calls.dispose();
    }
}

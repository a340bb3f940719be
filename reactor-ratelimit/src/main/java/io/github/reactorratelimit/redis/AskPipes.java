package io.github.reactorratelimit.redis;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.publisher.Mono;

/**
 * A pipe for each key that is asked for right now, and nothing for the others.
 *
 * @param <A> what is asked
 * @param <B> what is answered
 */
final class AskPipes<A, B> {

    private final AskPipe.Outlet<A, B> outlet;
    private final Map<String, AskPipe<A, B>> pipes = new ConcurrentHashMap<>();

    AskPipes(AskPipe.Outlet<A, B> outlet) {
        this.outlet = outlet;
    }

    /** Shares a call with what else is asked for the key; answered on a thread of the connection. */
    Mono<B> ask(String key, A ask) {
        return MonoOnce.asking(reply -> ask(key, ask, reply));
    }

    void ask(String key, A ask, MonoOnce.Reply<B> reply) {
        for (; ; ) {
            AskPipe<A, B> pipe = pipes.computeIfAbsent(key, name -> new AskPipe<>(this, outlet, name));
            if (pipe.add(ask, reply)) {
                return;
            }
            pipes.remove(key, pipe);
        }
    }

    /** Whether something is asked for the key and not sent. */
    boolean hasUnsent(String key) {
        AskPipe<A, B> pipe = pipes.get(key);
        return pipe != null && pipe.hasUnsent();
    }

    void remove(String key, AskPipe<A, B> pipe) {
        pipes.remove(key, pipe);
    }
}

package io.github.reactorratelimit.examples.playground;

import reactor.core.publisher.Flux;

/** What a tab shows: runs on the server from the subscription to its frames until it is closed. */
public interface Simulated {

    /** What happens, a frame at a time. */
    Flux<?> frames();

    /** Ends all of it. */
    void close();
}

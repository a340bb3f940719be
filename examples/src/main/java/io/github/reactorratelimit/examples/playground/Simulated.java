package io.github.reactorratelimit.examples.playground;

import java.util.List;
import reactor.core.publisher.Flux;

/** What a tab shows, with settings of type {@code T}: runs on the server from the subscription to its frames until it is closed. */
public interface Simulated<T> {

    /** What would have happened before the page came, if there is such a thing: asked for once, before the frames. */
    default List<?> history() {
        return List.of();
    }

    /** What happens, a frame at a time. */
    Flux<?> frames();

    /** Goes on with other settings. */
    void change(T changed);

    /** What its limiters and servers counted themselves, apart from the frames. */
    List<?> totals();

    /** Ends all of it. */
    void close();
}

package io.github.reactorratelimit.benchmarks.waiting;

import java.time.Duration;
import reactor.core.publisher.Mono;

/** A limiter in this process whose callers wait for their turn. Each key has the same limit and never more than one permit saved. */
interface Waiting extends AutoCloseable {

    /** Opens one for keys 0 to {@code keys - 1}, with a permit of each every {@code interval}. */
    interface Opener {

        Waiting open(int keys, Duration interval);
    }

    /** {@code call}, subscribed when its turn has come. */
    <T> Mono<T> guard(int key, Mono<T> call);

    /** How long who asks now would wait. May take the permit. */
    Duration untilNext(int key);

    @Override
    void close();
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** Where instances of an application keep their limits together. Names no type of Redis, which may not be on the class path. */
interface SharedStore extends Disposable {

    /**
     * A store for limits.
     *
     * @param mode what they answer while it is away
     * @param instances how many share the limit meanwhile, if {@code mode} is local
     */
    RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances);

    /** Whether limits can be decided there now; never an error. */
    Mono<Condition> condition();

    /** Gives back what it holds; the limiters have been closed by then. */
    Mono<Void> close();

    /** Closes without waiting for the end. */
    @Override
    default void dispose() {
        close().subscribe();
    }

    /**
     * How a store is.
     *
     * @param works whether limits can be decided there
     * @param findings what should be put right
     */
    record Condition(boolean works, List<String> findings) {}
}

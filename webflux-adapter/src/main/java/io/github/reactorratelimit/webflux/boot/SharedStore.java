package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Where instances of an application keep their limits together. Names no type of Redis, which may not be on the class path. */
interface SharedStore {

    /**
     * A store for limits.
     *
     * @param mode what they do while it is unavailable
     * @param instances how many instances share the limit meanwhile, if {@code mode} is local
     * @param prepaid for how long permits are debited ahead; null if they are not
     */
    RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances, @Nullable Duration prepaid);

    /** Whether limits can be decided there now; never an error. */
    Mono<Condition> condition();

    /** Closes its connections; the limiters have been closed by then. */
    Mono<Void> close();

    /**
     * How a store is.
     *
     * @param works whether limits can be decided there
     * @param findings what should be put right
     */
    record Condition(boolean works, List<String> findings) {}
}

package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Something that goes wrong.
 *
 * @param name in the table
 * @param site where it happens
 * @param strike makes it happen under load, and ends it
 * @param failovers how often a replica with older state takes over
 * @param deadline of the store's calls
 * @param exact whether no call can have run without an answer: then every debit is known
 */
record Fault(String name, Supplier<FaultSite> site, Strike strike, int failovers, Duration deadline, boolean exact) {

    private static final Duration NEVER_LATE = Duration.ofSeconds(20);

    /** Returns when it is over. */
    @FunctionalInterface
    interface Strike {
        void on(FaultSite site, FaultLoad load, Consumer<String> progress) throws Exception;
    }

    /** Calls may be given up, and may have run nevertheless. */
    static Fault of(String name, Strike strike) {
        return new Fault(name, FaultSite::standalone, strike, 0, RedisStore.DEFAULT_DEADLINE, false);
    }

    /** Redis answers every call, if only to refuse it. */
    static Fault answered(String name, Strike strike) {
        return new Fault(name, FaultSite::standalone, strike, 0, NEVER_LATE, true);
    }

    static Fault failovers(String name, Supplier<FaultSite> site, int failovers, Strike strike) {
        return new Fault(name, site, strike, failovers, RedisStore.DEFAULT_DEADLINE, false);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisScriptingAsyncCommands;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.time.Duration;
import java.util.Objects;

/**
 * State in Redis, shared by all processes that use the same prefix and limiter name. Works on any Lettuce
 * connection: standalone, Sentinel or replicas (read from the master only), Cluster. The connection stays
 * the caller's, who closes it.
 *
 * <pre>{@code
 * RateLimitStore store = RedisStore.of(redisClient.connect())
 *         .whenUnavailable(FailureMode.closed());
 * RateLimiter limiter = RateLimiter.builder(policy).name("orders").store(store).build();
 * }</pre>
 *
 * <p>A decision is one script call at the server's own time; asks for one key that are under way
 * together share a call. Limiters with the same name share their keys, so give each its own.
 */
public final class RedisStore implements RateLimitStore {

    /** How long a call may take unless {@link #withDeadline(Duration)} says otherwise. */
    public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(50);

    private final RedisScriptingAsyncCommands<String, String> commands;
    private final String prefix;
    private final Duration deadline;
    private final FailureMode failureMode;
    private final boolean coalescing;

    private RedisStore(
            RedisScriptingAsyncCommands<String, String> commands,
            String prefix,
            Duration deadline,
            FailureMode failureMode,
            boolean coalescing) {
        this.commands = commands;
        this.prefix = prefix;
        this.deadline = deadline;
        this.failureMode = failureMode;
        this.coalescing = coalescing;
    }

    /** On a standalone server, or the master behind Sentinel; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisConnection<String, String> connection) {
        return of(Objects.requireNonNull(connection, "connection").async());
    }

    /** On a Cluster; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisClusterConnection<String, String> connection) {
        return of(Objects.requireNonNull(connection, "connection").async());
    }

    private static RedisStore of(RedisScriptingAsyncCommands<String, String> commands) {
        return new RedisStore(commands, "ratelimit", DEFAULT_DEADLINE, FailureMode.closed(), true);
    }

    /** The same store with keys that begin with {@code prefix}; {@code "ratelimit"} unless given. */
    public RedisStore withPrefix(String prefix) {
        if (Objects.requireNonNull(prefix, "prefix").isBlank() || prefix.contains("{") || prefix.contains("}")) {
            throw new IllegalArgumentException("prefix must not be blank or hold braces, was '" + prefix + "'");
        }
        return new RedisStore(commands, prefix, deadline, failureMode, coalescing);
    }

    /** The same store, whose calls are given up after {@code deadline}. They are never sent again. */
    public RedisStore withDeadline(Duration deadline) {
        Objects.requireNonNull(deadline, "deadline");
        if (deadline.isZero() || deadline.isNegative() || deadline.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("deadline must be positive and at most one minute, was " + deadline);
        }
        return new RedisStore(commands, prefix, deadline, failureMode, coalescing);
    }

    /** The same store with another answer while Redis is unavailable. */
    public RedisStore whenUnavailable(FailureMode mode) {
        return new RedisStore(commands, prefix, deadline, Objects.requireNonNull(mode, "mode"), coalescing);
    }

    /** The same store with a call for every ask. */
    public RedisStore withoutCoalescing() {
        return new RedisStore(commands, prefix, deadline, failureMode, false);
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        ScriptCaller caller = new ScriptCaller(commands, settings.scheduler(), deadline);
        RedisCalls calls = new RedisCalls(settings, caller, new RedisKeys(prefix, settings.name()), coalescing);
        return new RedisState(settings, calls, new Unavailability(settings, failureMode, calls.breaker()));
    }

    @Override
    public String toString() {
        return "RedisStore '" + prefix + "', deadline " + deadline + ", when unavailable " + failureMode;
    }
}

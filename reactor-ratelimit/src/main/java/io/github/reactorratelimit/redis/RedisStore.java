package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
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

    private final RedisClusterAsyncCommands<String, String> commands;
    private final StoreOptions options;

    private RedisStore(RedisClusterAsyncCommands<String, String> commands, StoreOptions options) {
        this.commands = commands;
        this.options = options;
    }

    /** On a standalone server, or the master behind Sentinel; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisConnection<String, String> connection) {
        return of(Objects.requireNonNull(connection, "connection").async());
    }

    /** On a Cluster; closed while Redis is unavailable. */
    public static RedisStore of(StatefulRedisClusterConnection<String, String> connection) {
        return of(Objects.requireNonNull(connection, "connection").async());
    }

    private static RedisStore of(RedisClusterAsyncCommands<String, String> commands) {
        return new RedisStore(commands, StoreOptions.DEFAULT);
    }

    private RedisStore with(StoreOptions options) {
        return new RedisStore(commands, options);
    }

    /** The same store with keys that begin with {@code prefix}; {@code "ratelimit"} unless given. */
    public RedisStore withPrefix(String prefix) {
        if (Objects.requireNonNull(prefix, "prefix").isBlank() || prefix.contains("{") || prefix.contains("}")) {
            throw new IllegalArgumentException("prefix must not be blank or hold braces, was '" + prefix + "'");
        }
        return with(options.toBuilder().prefix(prefix).build());
    }

    /** The same store, whose calls are given up after {@code deadline}. They are never sent again. */
    public RedisStore withDeadline(Duration deadline) {
        Objects.requireNonNull(deadline, "deadline");
        if (deadline.isZero() || deadline.isNegative() || deadline.compareTo(Duration.ofMinutes(1)) > 0) {
            throw new IllegalArgumentException("deadline must be positive and at most one minute, was " + deadline);
        }
        return with(options.toBuilder().deadline(deadline).build());
    }

    /** The same store with another answer while Redis is unavailable. */
    public RedisStore whenUnavailable(FailureMode mode) {
        return with(options.toBuilder()
                .failureMode(Objects.requireNonNull(mode, "mode"))
                .build());
    }

    /** The same store with a call for every ask. */
    public RedisStore withoutCoalescing() {
        return with(options.toBuilder().coalescing(false).build());
    }

    /**
     * The same store with a call for every ask that is denied. Otherwise a denial answers asks of at least its
     * cost until Redis would allow what was denied, and at most for a second: what other processes give back may
     * be noticed that much later. The retry-after of a dearer ask is then a lower bound.
     */
    public RedisStore withoutDenialCache() {
        return with(options.toBuilder().denialCache(false).build());
    }

    @Override
    public LimiterState open(LimiterSettings settings) {
        ScriptCaller caller = new ScriptCaller(commands, settings.scheduler(), options.deadline());
        RedisKeys keys = new RedisKeys(options.prefix(), settings.name());
        RedisCalls calls = new RedisCalls(settings, caller, keys, options.coalescing());
        Unavailability unavailability = new Unavailability(settings, options.failureMode(), calls.breaker());
        DenialCache denials = options.denialCache() ? new DenialCache() : null;
        return new RedisState(settings, calls, unavailability, denials);
    }

    @Override
    public String toString() {
        return "RedisStore '" + options.prefix() + "', deadline " + options.deadline() + ", when unavailable "
                + options.failureMode();
    }
}

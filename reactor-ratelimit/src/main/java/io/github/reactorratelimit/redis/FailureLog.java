package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Logs and counts what goes wrong between one limiter and Redis, on any thread. Never prints a key, which may
 * be a secret.
 */
class FailureLog {

    static final Duration AT_MOST_EVERY = Duration.ofMinutes(1);

    /** Under the name of the store, which users know. */
    static final Logger LOG = Loggers.getLogger(FailureLog.class.getPackageName() + ".RedisStore");

    private final LimiterSettings settings;
    private final StoreOptions options;
    private final boolean isCluster;

    /** When an error of a kind was last logged. */
    private final Map<Class<?>, Long> loggedNanos = new ConcurrentHashMap<>();

    FailureLog(LimiterSettings settings, StoreOptions options, boolean isCluster) {
        this.settings = settings;
        this.options = options;
        this.isCluster = isCluster;
    }

    /** The breaker of a node opens: a fallback decides from now on. */
    void unavailable(String node, RedisUnavailableException why) {
        Throwable cause = why.getCause();
        LOG.warn(
                "Limiter '{}': {} is unavailable, until it answers again {} decides. Reason: {}{}",
                settings.name(),
                redis(node),
                options.failureMode(),
                why.getMessage(),
                cause == null ? "" : ", " + cause.getMessage());
    }

    /** The node answers again. */
    void availableAgain(String node) {
        LOG.info(
                "Limiter '{}': {} is available again, because it answered; {} no longer decides",
                settings.name(),
                redis(node),
                options.failureMode());
    }

    private String redis(String node) {
        return isCluster ? "Redis node " + node : "Redis";
    }

    /**
     * A call was answered with an error that is no outage. Counts each call, and logs an error of a kind once a
     * minute at most.
     */
    void failed(RateLimitException error) {
        settings.recorder().counted(Event.STORE_FAILED, 0);
        if (isDue(error.getClass(), settings.scheduler().now(TimeUnit.NANOSECONDS))) {
            LOG.error("Limiter '{}': requests fail, because {}", settings.name(), advice(error));
        }
    }

    private boolean isDue(Class<?> kind, long now) {
        Long before = loggedNanos.get(kind);
        if (before == null) {
            return loggedNanos.putIfAbsent(kind, now) == null;
        }
        return now - before >= AT_MOST_EVERY.toNanos() && loggedNanos.replace(kind, before, now);
    }

    private String advice(RateLimitException error) {
        String message = String.valueOf(error.getMessage());
        if (error instanceof RedisErrorReplyException) {
            return ReplyErrors.advice(options.prefix(), message);
        }
        if (error instanceof RedisCorruptStateException) {
            return "a key in Redis does not hold what a limiter wrote: " + message
                    + ". Delete the key, or choose another prefix than '" + options.prefix() + "'";
        }
        return "Redis gave an unexpected reply: " + message
                + ". Connect to Redis itself, without a proxy that changes replies";
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.FailureAction;
import io.github.reactorratelimit.webflux.MissingKey;
import io.github.reactorratelimit.webflux.StatusSet;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.web.bind.annotation.RequestMethod;

/**
 * One limit of {@code ratelimit.limits}. A name, a key and a limit are all it needs; for which requests it is, how it counts and what happens
 * to requests above it are told by the others.
 *
 * @param name Name of the limit. Clients see it, annotations and the endpoint use it; each limit has its own.
 * @param paths Path patterns, one of which has to match. Every path unless given.
 * @param methods HTTP methods, one of which the request must have; GET includes HEAD. Every method unless given.
 * @param key What requests are counted by. ip, principal, session, header:X-Tenant, api-key:X-Api-Key, path:/users/{id}#id, all and more.
 *     Several are one key together; 'principal or ip' is the first that a request has.
 * @param limit Permits and time, such as '100 per minute'. For algorithm concurrency a number alone.
 * @param algorithm How permits come back. token-bucket unless given.
 * @param burst Permits that may be taken at once, for token-bucket and gcra; as many as the limit unless given.
 * @param queue Permits that may wait in line, for leaky-bucket; 1000 unless given.
 * @param cost Permits that a request costs; 1 unless given. With bytes-per-permit, those of a request that does not say how long its body is: as
 *     many as the limit gives at once to keys without an override unless given.
 * @param bytesPerPermit Size of the body that costs one permit, instead of a fixed cost.
 * @param mode What happens when there is no permit at once. delay if there is a max-wait, otherwise reject.
 * @param maxWait The longest time that a request waits for its turn, with mode delay.
 * @param softLimit A lower limit above which requests wait, while those above the limit are rejected. Needs a max-wait.
 * @param countOnly Statuses such as 401 or 5xx: requests that end with another one do not count. All count unless given.
 * @param missingKey What happens to requests without a key. 'deny', 'deny 401', or 'shared' to count them all together.
 * @param onFailure What happens to requests when the limiter fails, for example because Redis refuses a command. deny (with 503) or allow; default: allow
 *     if when-unavailable is open, otherwise deny.
 * @param whenUnavailable What is answered while Redis is away; as ratelimit.redis.when-unavailable unless given.
 * @param store Where the state lives; as ratelimit.store unless given.
 * @param onlyWhereNamed Whether it is only for handlers that name it by @RateLimited. It can have no paths or methods then.
 * @param afterAuthentication Whether it is applied after Spring Security. Unless given, true if the key needs the principal.
 * @param overrides Other limits for some keys.
 */
public record LimitProperties(
        @Nullable String name,
        @Nullable List<String> paths,
        @Nullable List<RequestMethod> methods,
        @Nullable List<LimitKey> key,
        @Nullable Rate limit,
        @DefaultValue("token-bucket") Algorithm algorithm,
        @Nullable Long burst,
        @Nullable Long queue,
        @Nullable Long cost,
        @Nullable DataSize bytesPerPermit,
        @Nullable Mode mode,
        @Nullable Duration maxWait,
        @Nullable Rate softLimit,
        @Nullable List<StatusSet> countOnly,
        @DefaultValue("deny") MissingKey missingKey,
        @Nullable FailureAction onFailure,
        @Nullable WhenUnavailable whenUnavailable,
        @Nullable StoreKind store,
        @DefaultValue("false") boolean onlyWhereNamed,
        @Nullable Boolean afterAuthentication,
        @Nullable List<KeyOverride> overrides) {

    /** How permits come back. */
    public enum Algorithm {
        /** A bucket that refills evenly. */
        TOKEN_BUCKET,
        /** The same by time: one number per key. */
        GCRA,
        /** A queue that is drained at a constant rate. */
        LEAKY_BUCKET,
        /** So many in each window. */
        FIXED_WINDOW,
        /** So many in any window, exactly. */
        SLIDING_LOG,
        /** So many in any window, estimated. */
        SLIDING_COUNTER,
        /** So many at one time. */
        CONCURRENCY
    }

    /** What happens to a request for which there is no permit at once. */
    public enum Mode {
        /** Denied. */
        REJECT,
        /** Waits for its turn. */
        DELAY
    }

    /** Where the state of a limit lives. */
    public enum StoreKind {
        /** In this process. */
        LOCAL,
        /** In Redis, shared by all instances. */
        REDIS
    }

    /** What a limit answers while Redis does not. */
    public enum WhenUnavailable {
        /** Everything is allowed. */
        OPEN,
        /** Everything is denied, with 503. */
        CLOSED,
        /** Each instance gives out its share of the limit. */
        LOCAL
    }

    /**
     * Another limit for one key.
     *
     * @param key The user's name, the address, the API key: what the key of the limit finds.
     * @param limit Permits and time, such as '1000 per minute'.
     * @param burst Permits that may be taken at once; as many as the limit unless given.
     */
    public record KeyOverride(
            @Nullable String key,
            @Nullable Rate limit,
            @Nullable Long burst) {}

    /** What every request costs at least. */
    long costOfEach() {
        return cost == null || bytesPerPermit != null ? 1 : cost;
    }

    /** The same limit with the numbers of another one: what can change while the application runs. */
    LimitProperties withNumbersOf(LimitProperties other) {
        return with(other.limit, other.algorithm, other.burst, other.queue, other.softLimit, other.overrides);
    }

    /** The same limit with other numbers. */
    LimitProperties withLimit(Rate other, @Nullable Long otherBurst) {
        return with(other, algorithm, otherBurst, queue, softLimit, overrides);
    }

    private LimitProperties with(
            @Nullable Rate otherLimit,
            Algorithm otherAlgorithm,
            @Nullable Long otherBurst,
            @Nullable Long otherQueue,
            @Nullable Rate otherSoftLimit,
            @Nullable List<KeyOverride> otherOverrides) {
        return new LimitProperties(
                name,
                paths,
                methods,
                key,
                otherLimit,
                otherAlgorithm,
                otherBurst,
                otherQueue,
                cost,
                bytesPerPermit,
                mode,
                maxWait,
                otherSoftLimit,
                countOnly,
                missingKey,
                onFailure,
                whenUnavailable,
                store,
                onlyWhereNamed,
                afterAuthentication,
                otherOverrides);
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.FailureAction;
import io.github.reactorratelimit.webflux.StatusSet;
import java.time.Duration;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.web.bind.annotation.RequestMethod;

/**
 * One limit of {@code reactor-ratelimit.limits}. It needs a key and a limit.
 *
 * @param order Place among the limits: lower ones apply first, those without an order last, by name.
 * @param paths Path patterns, one of which must match. Default: every path.
 * @param methods HTTP methods, one of which the request must have; GET includes HEAD. Default: every method.
 * @param key What requests are counted by. ip, principal, session, header:X-Tenant, api-key:X-Api-Key,
 *     path:/users/{id}#id, all and more. Several are one key together; 'principal or ip' is the first that a request has.
 * @param limit Permits and time, such as '100 per minute'. For algorithm concurrency a number alone.
 * @param algorithm How permits come back.
 * @param burst Permits that may be taken at once, for token-bucket and gcra. Default: as many as the limit.
 * @param queue Permits that may wait, for leaky-bucket. Default: 1000.
 * @param warmUp Time in which the rate grows to the limit after a pause, for token-bucket.
 * @param zone Time zone of calendar windows, for fixed-window with a limit per day or per month. Default: UTC.
 * @param cost Permits that a request costs. Default: 1. With bytes-per-permit, the cost of a request of unknown length.
 *     Default then: as many as the limit gives at once.
 * @param bytesPerPermit Size of the body that costs one permit, instead of a fixed cost.
 * @param mode What happens if no permit is available. Default: delay if there is a max-wait, otherwise reject.
 * @param maxWait The longest time that a request waits for a permit, with mode delay.
 * @param softLimit A lower limit above which requests wait, while those above the limit are rejected. Needs a max-wait.
 * @param shadow Another limit that only counts what it would deny, in the meter ratelimit.shadow.decisions.
 * @param countStatuses Statuses such as 401 or 5xx: requests that end with another one do not count. Default: all count.
 * @param missingKey What happens to requests without a key.
 * @param missingKeyStatus Status of requests that are denied because they have no key. Default: 403.
 * @param onFailure What happens to requests if the limiter fails, for example because Redis refuses a command: deny (with
 *     503) or allow. Default: allow if when-unavailable is open, otherwise deny.
 * @param whenUnavailable What happens while Redis is unavailable. Default: reactor-ratelimit.redis.when-unavailable.
 * @param store Where the state lives. Default: reactor-ratelimit.store.
 * @param prepaid Time for which permits are debited ahead on Redis and spent in this process, such as 1s. Default: none.
 * @param explicitOnly Whether it applies only to handlers that name it by @RateLimited. Then it has no paths or methods.
 * @param afterAuthentication Whether it applies after Spring Security. Default: true if the key needs the principal.
 * @param overrides Other limits for some keys.
 */
public record LimitProperties(
        @Nullable Integer order,
        @Nullable List<String> paths,
        @Nullable List<RequestMethod> methods,
        @Nullable List<LimitKey> key,
        @Nullable Rate limit,
        @DefaultValue("token-bucket") Algorithm algorithm,
        @Nullable Long burst,
        @Nullable Long queue,
        @Nullable Duration warmUp,
        @Nullable ZoneId zone,
        @Nullable Long cost,
        @Nullable DataSize bytesPerPermit,
        @Nullable Mode mode,
        @Nullable Duration maxWait,
        @Nullable Rate softLimit,
        @Nullable Rate shadow,
        @Nullable List<StatusSet> countStatuses,
        @DefaultValue("deny") MissingKeyAction missingKey,
        @Nullable Integer missingKeyStatus,
        @Nullable FailureAction onFailure,
        @Nullable WhenUnavailable whenUnavailable,
        @Nullable StoreKind store,
        @Nullable Duration prepaid,
        @DefaultValue("false") boolean explicitOnly,
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
        /** As many in each window. */
        FIXED_WINDOW,
        /** As many in any window, exactly. */
        SLIDING_LOG,
        /** As many in any window, estimated. */
        SLIDING_COUNTER,
        /** As many at one time. */
        CONCURRENCY
    }

    /** What happens to a request for which no permit is available. */
    public enum Mode {
        /** Denied. */
        REJECT,
        /** Waits for a permit. */
        DELAY
    }

    /** What happens to a request without a key. */
    public enum MissingKeyAction {
        /** Denied. */
        DENY,
        /** Counted with all others without a key. */
        SHARED
    }

    /** Where the state of a limit lives. */
    public enum StoreKind {
        /** In this process. */
        LOCAL,
        /** In Redis, shared by all instances. */
        REDIS
    }

    /** What a limit does while Redis is unavailable. */
    public enum WhenUnavailable {
        /** Allows everything. */
        OPEN,
        /** Denies everything, with 503. */
        CLOSED,
        /** Each instance gives out its share of the limit. */
        LOCAL
    }

    /**
     * Another limit for one key.
     *
     * @param key The user's name, the address, the API key: what the key of the limit finds.
     * @param limit Permits and time, such as '1000 per minute'.
     * @param burst Permits that may be taken at once. Default: as many as the limit.
     */
    public record KeyOverride(
            @Nullable String key,
            @Nullable Rate limit,
            @Nullable Long burst) {}

    /** What every request costs at least. */
    long costOfEach() {
        return cost == null || bytesPerPermit != null ? 1 : cost;
    }

    /** What needs a restart to change: all but the numbers that {@link LimitSettings} holds. */
    List<@Nullable Object> fixed() {
        return Arrays.asList(
                order,
                paths,
                methods,
                key,
                cost,
                bytesPerPermit,
                mode,
                maxWait,
                shadow,
                countStatuses,
                missingKey,
                missingKeyStatus,
                onFailure,
                whenUnavailable,
                store,
                prepaid,
                explicitOnly,
                afterAuthentication);
    }
}

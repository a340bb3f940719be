package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Builds a {@link FairShare}; contradictions are refused at once. */
public final class FairShareBuilder {

    /** The class of a {@link FairShare} that was given none. */
    public static final String DEFAULT_CLASS = "default";

    /** As {@link #lowerClassesGetOneIn}, unless given. */
    public static final int DEFAULT_ONE_IN = 10;

    /** As {@link #maxQueuedPerClass}, unless given. */
    public static final int DEFAULT_MAX_QUEUED_PER_CLASS = 10_000;

    /** As {@link #maxQueuedPerTenant}, unless given. */
    public static final int DEFAULT_MAX_QUEUED_PER_TENANT = 1_000;

    /** As {@link #askAhead}, unless given. */
    public static final Duration DEFAULT_ASK_AHEAD = Duration.ofMillis(20);

    private static final Duration MAX_AHEAD = Duration.ofSeconds(1);
    private static final int MAX_ONE_IN = 1_000;

    private final RateLimiter limiter;
    private final String key;
    private final Map<String, Long> weights = new HashMap<>();
    private ToLongFunction<String> otherWeights = tenant -> 1;
    private List<String> classes = List.of(DEFAULT_CLASS);
    private int oneIn = DEFAULT_ONE_IN;
    private int maxQueuedPerClass = DEFAULT_MAX_QUEUED_PER_CLASS;
    private int maxQueuedPerTenant = DEFAULT_MAX_QUEUED_PER_TENANT;
    private Duration ahead = DEFAULT_ASK_AHEAD;
    private @Nullable Scheduler scheduler;

    FairShareBuilder(RateLimiter limiter, String key) {
        this.limiter = Objects.requireNonNull(limiter, "limiter");
        if (Objects.requireNonNull(key, "key").isEmpty()) {
            throw new IllegalArgumentException("key must not be empty");
        }
        this.key = key;
    }

    /**
     * The classes of calls, the first before the others; one class, {@value #DEFAULT_CLASS}, unless given.
     *
     * @throws IllegalArgumentException if there is none, or one twice
     */
    public FairShareBuilder classes(String... inOrder) {
        List<String> names = List.of(inOrder);
        if (names.isEmpty() || new HashSet<>(names).size() != names.size()) {
            throw new IllegalArgumentException("classes must be at least one and all different, were " + names);
        }
        this.classes = names;
        return this;
    }

    /**
     * What a tenant gets by, beside the others of its class: one with a weight of 3 gets three times what one with 1 gets, while both want
     * more than there is. 1 unless given.
     *
     * @throws IllegalArgumentException if it is not between 1 and 1 000 000
     */
    public FairShareBuilder weight(String tenant, long weight) {
        weights.put(FairCalls.checkTenant(tenant), FairCalls.checkWeight(weight));
        return this;
    }

    /**
     * The weight of tenants that were given none. Asked for each call, perhaps twice, on the thread that subscribes, so it may change; it must not block. One that
     * throws, or returns what is no weight, fails the call.
     */
    public FairShareBuilder weights(ToLongFunction<String> weightOfTenant) {
        this.otherWeights = Objects.requireNonNull(weightOfTenant, "weightOfTenant");
        return this;
    }

    /**
     * Each class but the first gets at least one permit in so many while it waits, however busy those before it are; {@value
     * #DEFAULT_ONE_IN} unless given. All of them together may be promised half.
     *
     * @throws IllegalArgumentException if it is not between 2 and 1 000
     */
    public FairShareBuilder lowerClassesGetOneIn(int permits) {
        if (permits < 2 || permits > MAX_ONE_IN) {
            throw new IllegalArgumentException("permits must be between 2 and 1 000, was " + permits);
        }
        this.oneIn = permits;
        return this;
    }

    /** Calls of one class that may wait at a time; one more is denied at once. Classes do not fill each other's. */
    public FairShareBuilder maxQueuedPerClass(int calls) {
        this.maxQueuedPerClass = positive("calls", calls);
        return this;
    }

    /** Calls of one tenant in one class that may wait at a time; one more is denied at once. */
    public FairShareBuilder maxQueuedPerTenant(int calls) {
        this.maxQueuedPerTenant = positive("calls", calls);
        return this;
    }

    /**
     * How far ahead permits are asked for while all who wait ask for the same number: as many requests are in flight at the limiter as were granted
     * lately in this time, and one more. 20 ms unless given. It should be longer than a round trip to the store, or the rate is not kept; in Redis what is asked for ahead is
     * booked ahead, and instances that have little to ask for wait behind it.
     *
     * @throws IllegalArgumentException if it is not positive, or longer than a second
     */
    public FairShareBuilder askAhead(Duration time) {
        if (Objects.requireNonNull(time, "time").isNegative() || time.isZero() || time.compareTo(MAX_AHEAD) > 0) {
            throw new IllegalArgumentException("time must be positive and at most a second, was " + time);
        }
        this.ahead = time;
        return this;
    }

    /**
     * Clock, timer, and where waiters are signalled: the one of the limiter, if that was given one. Unless given, the clock is {@link
     * Schedulers#parallel()}, and subscribers are signalled on {@link Schedulers#boundedElastic()}.
     */
    public FairShareBuilder scheduler(Scheduler scheduler) {
        this.scheduler = Objects.requireNonNull(scheduler, "scheduler");
        return this;
    }

    private static int positive(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be positive, was " + value);
        }
        return value;
    }

    /**
     * Builds it.
     *
     * @throws IllegalArgumentException if the lower classes together are promised more than half
     */
    public FairShare build() {
        int lower = classes.size() - 1;
        if (oneIn < 2 * lower) {
            throw new IllegalArgumentException(lower + " lower classes that get one permit in " + oneIn
                    + " each would get more than half: use lowerClassesGetOneIn(" + 2 * lower + ") or more");
        }
        Scheduler clock = scheduler == null ? Schedulers.parallel() : scheduler;
        Scheduler callbacks = scheduler == null ? Schedulers.boundedElastic() : scheduler;
        FairQueue order = new FairQueue(classes.size(), oneIn, maxQueuedPerClass, maxQueuedPerTenant);
        // Its waiters are calls, not requests to the limiter: the limiter's recorder does not count them.
        LimiterSettings settings = new LimiterSettings(
                limiter.name(), limiter.policy(), clock, callbacks, RateLimitRecorder.NOOP, Integer.MAX_VALUE, true);
        Map<String, Long> given = Map.copyOf(weights);
        ToLongFunction<String> others = otherWeights;
        ToLongFunction<String> weightOf = tenant -> {
            Long weight = given.get(tenant);
            return weight == null ? others.applyAsLong(tenant) : weight;
        };
        return new FairShare(classes, order, new FairCalls(limiter, key, settings, weightOf, order, ahead));
    }
}

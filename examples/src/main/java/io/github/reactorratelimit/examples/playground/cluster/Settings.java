package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Traffic;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a page asked for; bounded, so that no page can ask for much.
 *
 * @param policy the limit that the instances share
 * @param failure what they answer while Redis does not
 * @param asking how they take their permits
 * @param traffic what arrives at each instance
 */
record Settings(TokenBucket policy, Failure failure, Asking asking, List<Traffic> traffic) {

    /** How many share the limit. */
    static final int INSTANCES = 2;

    private static final int MOST_PER_SECOND = 100;
    private static final Duration BURST_EVERY = Duration.ofSeconds(1);

    /** Nothing comes. */
    static final Traffic NO_TRAFFIC = new Traffic(Traffic.Shape.CLICKS, 1, 1, BURST_EVERY);

    /** What an instance answers while Redis does not. */
    enum Failure {
        OPEN,
        CLOSED,
        /** Each instance gives out its part of the limit. */
        LOCAL
    }

    /** How an instance takes its permits. */
    enum Asking {
        /** Redis is asked for each, but for those that are under way together. */
        EACH,
        /** A batch at a time, which is then spent without a call. */
        LEASES
    }

    /** How what arrives is spread over time. */
    enum Pattern {
        STEADY,
        BURSTS
    }

    static Settings of(Map<String, @Nullable Object> json) {
        Fields fields = new Fields(json);
        TokenBucket policy = TokenBucket.perSecond(fields.integer("sharedRate", 1, MOST_PER_SECOND))
                .withBurst(fields.integer("sharedBurst", INSTANCES, MOST_PER_SECOND));
        Pattern pattern = fields.choice("pattern", Pattern.class);
        Settings settings = new Settings(
                policy,
                fields.choice("failure", Failure.class),
                fields.choice("asking", Asking.class),
                Stream.of("firstRate", "secondRate")
                        .map(name -> traffic(pattern, fields.integer(name, 0, MOST_PER_SECOND)))
                        .toList());
        fields.nothingElse();
        return settings;
    }

    /** A burst holds what comes in a second. */
    private static Traffic traffic(Pattern pattern, int perSecond) {
        if (perSecond == 0) {
            return NO_TRAFFIC;
        }
        Traffic.Shape shape = pattern == Pattern.STEADY ? Traffic.Shape.STEADY : Traffic.Shape.BURSTS;
        return new Traffic(shape, perSecond, perSecond, BURST_EVERY);
    }

    /** The store as these settings want it. */
    RedisStore applyTo(RedisStore store) {
        FailureMode mode = switch (failure) {
            case OPEN -> FailureMode.open();
            case CLOSED -> FailureMode.closed();
            case LOCAL -> FailureMode.local(policy.share(INSTANCES));
        };
        RedisStore chosen = store.whenUnavailable(mode);
        return asking == Asking.LEASES ? chosen.leasing() : chosen;
    }

    boolean limitsLike(Settings other) {
        return policy.equals(other.policy) && failure == other.failure && asking == other.asking;
    }
}

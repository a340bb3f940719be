package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterContract;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A store that leases keeps the contract of every store for the policies that it takes. The lease time is long:
 * of what goes back to a bucket when it is over, the bucket keeps what it may have refilled since.
 */
@ExtendWith(RedisExtension.class)
class LeasedRedisTest extends RateLimiterContract {

    private final StatefulRedisConnection<String, String> connection;

    LeasedRedisTest(Standalone server) {
        this.connection = server.connect();
    }

    @Override
    protected RateLimitStore store() {
        return RedisStore.of(connection).withDeadline(ofSeconds(10)).leasing(ofSeconds(60));
    }

    @Override
    protected boolean holds(RateLimitPolicy policy) {
        return !(policy instanceof LeakyBucket
                || policy instanceof WarmUp
                || policy instanceof SlidingWindowLog
                || (policy instanceof CompositePolicy composite
                        && !composite.parts().stream().allMatch(this::holds)));
    }

    static Stream<RateLimitPolicy> refusedPolicies() {
        return Stream.of(
                LeakyBucket.of(9, ofMillis(20)),
                ConcurrencyLimit.of(9),
                SlidingWindowLog.of(9, ofSeconds(1)),
                Policies.all(TokenBucket.perSecond(9), SlidingWindowLog.of(9, ofSeconds(1))));
    }

    @ParameterizedTest
    @MethodSource("refusedPolicies")
    void policyThatCannotBeLeasedIsRefusedWhenTheLimiterIsBuilt(RateLimitPolicy policy) {
        assertThatThrownBy(() -> RateLimiter.builder(policy).store(store()).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("cannot be leased: ");
    }

    @AfterEach
    void disconnect() {
        connection.close();
    }
}

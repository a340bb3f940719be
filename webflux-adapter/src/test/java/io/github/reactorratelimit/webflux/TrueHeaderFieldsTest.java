package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.greenbytes.http.sfv.Item;
import org.greenbytes.http.sfv.OuterList;
import org.greenbytes.http.sfv.Parameters;
import org.greenbytes.http.sfv.Parametrizable;
import org.greenbytes.http.sfv.Parser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.http.HttpHeaders;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What a client reads, by a parser of others, is true: {@code r} permits are left, and after {@code t} seconds there are more. */
class TrueHeaderFieldsTest {

    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                TokenBucket.perMinute(100),
                TokenBucket.perSecond(7).withBurst(20),
                Gcra.perMinute(100).withBurst(10),
                LeakyBucket.of(3, ofSeconds(10)).withQueue(5),
                FixedWindow.of(10, ofMinutes(1)),
                SlidingWindowLog.of(10, ofMinutes(1)),
                SlidingWindowCounter.of(10, ofMinutes(1)),
                WarmUp.of(30, ofMinutes(1), ofSeconds(20)));
    }

    private static Parameters parameters(HttpHeaders fields, String field) {
        OuterList list = new Parser(fields.get(field)).parseList();
        return ((Parametrizable<?>) list.get().get(0)).getParams();
    }

    private static long parameter(HttpHeaders fields, String name) {
        return (Long) ((Item<?>) parameters(fields, "RateLimit").get(name)).get();
    }

    /** Only a release brings permits back, and nothing tells when that is. */
    @Test
    void ofConcurrencyTheUnitIsToldAndNoTime() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(3));
        RateLimitRule rule = byUser("parallel").limiter(limiter).build();
        Lease lease = limiter.acquireLease("ann", 1, Duration.ZERO).block();
        HttpHeaders fields = new HttpHeaders();

        new RateLimitHeaderWriter(HeaderOptions.defaults())
                .writeAllowed(List.of(new Grant(rule, limiter, lease.decision(), lease)), fields);

        assertThat(parameter(fields, "r")).isEqualTo(2);
        assertThat(parameters(fields, "RateLimit")).doesNotContainKey("t");
        Parameters policy = parameters(fields, "RateLimit-Policy");
        assertThat(policy.get("q").get()).isEqualTo(3L);
        assertThat(policy.get("qu").get()).isEqualTo("concurrent-requests");
        assertThat(policy).doesNotContainKey("w");
    }

    @ParameterizedTest
    @MethodSource("policies")
    void remainingAndTimeAreTrueAfterABurst(RateLimitPolicy policy) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.builder(policy).scheduler(time).build();
        RateLimitRule rule = byUser("burst").limiter(limiter).build();
        RateLimitHeaderWriter writer = new RateLimitHeaderWriter(HeaderOptions.defaults());
        for (int request = 0; request < 300; request++) {
            Decision decision = limiter.tryAcquire("ann").block();
            HttpHeaders fields = new HttpHeaders();
            if (decision.allowed()) {
                writer.writeAllowed(List.of(new Grant(rule, limiter, decision, null)), fields);
            } else {
                writer.writeDenied(RateLimitDenial.by(rule, decision), List.of(), fields);
            }
            long left = parameter(fields, "r");
            assertThat(limiter.peek("ann").block().remaining())
                    .as("request %d: %s", request, fields)
                    .isEqualTo(left);
            if (left == 0 || request % 10 == 9) {
                time.advanceTimeBy(ofSeconds(parameter(fields, "t")));
                assertThat(limiter.peek("ann").block().remaining())
                        .as("request %d: %s", request, fields)
                        .isGreaterThan(left);
            }
        }
        time.dispose();
    }
}

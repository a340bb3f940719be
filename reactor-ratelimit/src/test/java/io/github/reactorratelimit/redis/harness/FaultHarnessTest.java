package io.github.reactorratelimit.redis.harness;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;

/**
 * Faults of servers and networks under load. All of them: {@code mvn -Pfull -pl reactor-ratelimit test
 * -Dtest=FaultHarnessTest}.
 */
@Tag("slow")
@ExtendWith(RedisExtension.class)
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class FaultHarnessTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");

    @Test
    void limitsHoldAndEverybodyIsAnsweredWhateverGoesWrong() throws Exception {
        List<Fault> faults = new ArrayList<>(Faults.cheap(Duration.ofMillis(FULL ? 5_000 : 400)));
        faults.add(Faults.stop(Duration.ofSeconds(FULL ? 5 : 1)));
        if (FULL) {
            faults.addAll(Faults.more(Duration.ofSeconds(5)));
            faults.addAll(Faults.kills());
        }
        FaultHarness harness = new FaultHarness();
        try {
            harness.run(faults);
        } finally {
            harness.printTable();
        }
        SoftAssertions failures = new SoftAssertions();
        harness.check(failures);
        failures.assertAll();
    }

    @Test
    void answerLostWithTheConnectionCostsItsPermitOnce() throws Exception {
        try (FaultSite site = FaultSite.standalone()) {
            ResetReplies.Outcome outcome = ResetReplies.run(
                    site.server(), site.proxy(), site.connected().store(), FULL ? 100 : 4);
            System.out.printf(
                    "%nanswers lost by a reset, connected again at once: %d asks, %d debits, %d double%n",
                    outcome.asks(), outcome.spent(), outcome.doubles());
            assertThat(outcome.doubles()).isZero();
        }
    }

    /** What the test above is for: it sees the second debit where there is one. */
    @Test
    void clientThatSendsAgainWouldDebitTwice() throws Exception {
        try (Standalone redis = Standalone.start();
                FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisClient client = RedisClient.create(proxy.uri());
            try (StatefulRedisConnection<String, String> connection = client.connect()) {
                ResetReplies.Outcome outcome = ResetReplies.run(redis.server(), proxy, RedisStore.of(connection), 3);
                assertThat(outcome.doubles()).isPositive();
            } finally {
                client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            }
        }
    }

    @Test
    void whoIsDeniedBehindWaitersIsToldThatRedisIsAway() {
        try (FaultSite site = FaultSite.standalone()) {
            RateLimiter limiter = RateLimiter.builder(FixedWindow.of(1, Duration.ofDays(200)))
                    .name(site.run())
                    .store(site.connected().store())
                    .build();
            Await.until(
                    "permit taken",
                    () -> !limiter.tryAcquire("k").block(Await.LONG).degraded());
            Disposable waiting = limiter.acquire("k").subscribe();
            assertThat(limiter.tryAcquire("k").block(Await.LONG).allowed()).isFalse();
            site.proxy().blackHole();
            Decision denied = limiter.tryAcquire("k").block(Await.LONG);
            assertThat(denied.allowed()).isFalse();
            assertThat(denied.degraded()).isTrue();
            waiting.dispose();
            limiter.close().block(Await.LONG);
        }
    }

    @Test
    void clockThatJumpsByAnHourNeitherGrantsTooMuchNorLocksOut(Standalone redis) {
        SoftAssertions failures = new SoftAssertions();
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            ClockJumps.run(connection.sync(), failures);
        }
        failures.assertAll();
    }
}

package io.github.reactorratelimit.operator;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Ledger;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.scheduler.Schedulers;

/** A thousand streams with errors and cancels: the ledger balances to the permit. */
public abstract class StreamLedgerContract {

    static final int STREAMS = 1_000;
    private static final Duration PATIENCE = ofSeconds(60);

    /** Where the limiters of one name count together, or the limiter of its own. */
    protected abstract RateLimitStore store();

    /**
     * What was spent of the key by a limiter of this name and policy, once it was closed. What was granted to those who had
     * left may still be on its way back: that is awaited, until it is {@code expected}.
     */
    protected abstract long spent(RateLimiter limiter, RateLimiterBuilder another, String key, LongPredicate expected);

    static Stream<RateLimitPolicy> policies() {
        long enough = 2 * STREAMS * StreamLedger.mostCost();
        return Stream.of(
                FixedWindow.of(enough, ofDays(366)).fromFirstRequest(),
                TokenBucket.of(enough, ofDays(366)).stepwise(),
                SlidingWindowCounter.of(enough, ofDays(366)),
                Gcra.of(enough, ofDays(366)),
                Policies.all(
                        TokenBucket.of(enough, ofDays(366)).stepwise(),
                        FixedWindow.of(enough, ofDays(366)).fromFirstRequest()));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void ledgerOfAThousandStreamsBalancesToThePermit(RateLimitPolicy policy) throws InterruptedException {
        Ledger ledger = new Ledger();
        String name = "ledger-" + UUID.randomUUID();
        RateLimiter limiter = RateLimiter.builder(policy)
                .name(name)
                .store(store())
                .recorder(ledger)
                .build();
        // A window that begins with the first request has begun: of a thread that read the clock before that, but came
        // later,
        // nothing would come back.
        limiter.tryAcquire(name).block(PATIENCE);
        SplittableRandom random = new SplittableRandom(Seeds.of("streams of " + policy));
        StreamLedger streams = new StreamLedger(limiter, name, STREAMS, random);
        for (int i = 0; i < STREAMS; i++) {
            streams.start(i % 2 == 0 ? Schedulers.parallel() : Schedulers.boundedElastic());
        }
        assertThat(streams.running().await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                .isTrue();

        // Of a rate that flows a part of a permit is spent, or has come back.
        long slack = policy instanceof Gcra ? 1 : 0;
        RateLimiterBuilder another = RateLimiter.builder(policy).name(name).store(store());
        long spent = spent(limiter, another, name, all -> Math.abs(all - 1 - streams.delivered()) <= slack) - 1;

        assertThat(ledger.settled()).isEqualTo(streams.delivered());
        assertThat(ledger.open()).isZero();
        assertThat(ledger.uncharged()).isZero();
        assertThat(ledger.lost()).isZero();
        assertThat(spent).isBetween(ledger.settled() - slack, ledger.settled() + slack);
    }
}

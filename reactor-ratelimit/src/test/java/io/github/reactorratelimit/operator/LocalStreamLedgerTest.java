package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.testing.Ledger;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.test.scheduler.VirtualTimeScheduler;

/** In this process: on real threads, and in virtual time. */
class LocalStreamLedgerTest extends StreamLedgerContract {

    @Override
    protected RateLimitStore store() {
        return LocalStore.create();
    }

    /** What is settled here is settled at once. */
    @Override
    protected long spent(RateLimiter limiter, RateLimiterBuilder another, String key, LongPredicate expected) {
        Decision seen = limiter.peek(key).block();
        limiter.dispose();
        return seen.limit() - seen.remaining();
    }

    @Test
    void ledgerBalancesInVirtualTime() {
        SplittableRandom random = new SplittableRandom(Seeds.of("virtual streams"));
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        Ledger ledger = new Ledger();
        long enough = 2 * STREAMS * StreamLedger.mostCost();
        RateLimiter limiter = RateLimiter.builder(
                        FixedWindow.of(enough, ofDays(366)).fromFirstRequest())
                .scheduler(time)
                .recorder(ledger)
                .build();
        StreamLedger streams = new StreamLedger(limiter, "k", STREAMS, random);
        for (int i = 0; i < STREAMS; i++) {
            streams.start(time);
            time.advanceTimeBy(Duration.ofNanos(random.nextLong(1_000_000)));
        }
        assertThat(streams.running().getCount()).isZero();
        Decision seen = limiter.peek("k").block();
        assertThat(ledger.settled()).isEqualTo(streams.delivered());
        assertThat(seen.limit() - seen.remaining()).isEqualTo(ledger.settled());
        assertThat(ledger.open()).isZero();
    }

    /** Streams that wait for what they reserve, and refill: what was spent is what is missing and what came back. */
    @Test
    void waitingStreamsSpendNoMoreThanTheBucketGivesAndOwes() {
        SplittableRandom random = new SplittableRandom(Seeds.of("waiting streams"));
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        Ledger ledger = new Ledger();
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(100).withBurst(50))
                .scheduler(time)
                .recorder(ledger)
                .build();
        for (int i = 0; i < STREAMS; i++) {
            Flux.range(0, random.nextInt(30))
                    .delayElements(ofMillis(5), time)
                    .transform(limitRate(limiter, spec -> spec.key("k").cost(10).chargeElements(element -> 1)))
                    .take(1 + random.nextInt(30))
                    .subscribe();
        }
        Duration busy = Duration.ZERO;
        while (ledger.settlements() < STREAMS) {
            time.advanceTimeBy(ofSeconds(1));
            busy = busy.plusSeconds(1);
            long given = 50 + 100 * busy.toSeconds();
            assertThat(ledger.settled()).isLessThanOrEqualTo(given + 50);
        }
        assertThat(ledger.uncharged()).isZero();
        // What is given back later than it was taken is less by what may have been refilled meanwhile.
        assertThat(ledger.settled()).isGreaterThan(50 * busy.toSeconds());
    }
}

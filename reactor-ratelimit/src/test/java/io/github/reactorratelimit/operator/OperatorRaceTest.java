package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Two signals at the same moment, 100 000 times each, on the real limiter with a clock the test moves.
 * The bucket holds one permit and is empty when a round starts, unless the round says otherwise.
 */
class OperatorRaceTest {

    private static final int ROUNDS = 100_000;
    private static final String KEY = LimitSpec.DEFAULT_KEY;
    private static final long INTERVAL_NANOS = 1_000;

    private final ManualScheduler scheduler = new ManualScheduler(-5_000);
    private final RateLimiter limiter = RateLimiter.builder(TokenBucket.of(1, Duration.ofNanos(INTERVAL_NANOS)))
            .scheduler(scheduler)
            .build();
    private final Race race = new Race(Seeds.next());
    private int leftWon;
    private int rightWon;

    @AfterEach
    void nothingIsLeftBehind() {
        race.close();
        assertThat(scheduler.pending()).as("pending timers").isZero();
        assertThat(leftWon).as("rounds the left side won").isPositive();
        assertThat(rightWon).as("rounds the right side won").isPositive();
        System.out.printf("%d : %d%n", leftWon, rightWon);
    }

    private void grant() {
        scheduler.advance(INTERVAL_NANOS);
        scheduler.runDue();
    }

    /** Takes the one permit of the bucket, if nobody has it. */
    private boolean takePermit() {
        return limiter.tryAcquireNow(KEY, 1);
    }

    private void tally(boolean left) {
        leftWon += left ? 1 : 0;
        rightWon += left ? 0 : 1;
    }

    private Probe subscribed(UnaryOperator<LimitSpec<Integer>> spec) {
        Probe probe = new Probe();
        probe.source().transform(limitRate(limiter, spec)).subscribe(probe);
        return probe;
    }

    private void cancelAgainstGrant(UnaryOperator<LimitSpec<Integer>> spec) {
        takePermit();
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            probe.upstream.onNext(round);
            race.run(probe::cancel, this::grant);
            scheduler.runDue();
            assertThat(probe.emitted.get() + probe.discarded.get()).isOne();
            assertThat(probe.upstreamCancelled).hasValue(1);
            assertThat(takePermit()).isEqualTo(probe.emitted.get() == 0);
            tally(probe.emitted.get() == 0);
        }
    }

    @Test
    void cancelAgainstGrantOrdered() {
        cancelAgainstGrant(spec -> spec);
    }

    @Test
    void cancelAgainstGrantUnordered() {
        cancelAgainstGrant(spec -> spec.unordered(4));
    }

    private void cancelAgainstOnNext(UnaryOperator<LimitSpec<Integer>> spec) {
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            int element = round;
            race.run(probe::cancel, () -> probe.upstream.onNext(element));
            assertThat(probe.emitted.get() + probe.discarded.get()).isOne();
            assertThat(takePermit()).isEqualTo(probe.emitted.get() == 0);
            tally(probe.emitted.get() == 0);
            scheduler.advance(INTERVAL_NANOS);
        }
    }

    @Test
    void cancelAgainstOnNextThatFindsItsPermitOrdered() {
        cancelAgainstOnNext(spec -> spec);
    }

    @Test
    void cancelAgainstOnNextThatFindsItsPermitUnordered() {
        cancelAgainstOnNext(spec -> spec.unordered(4));
    }

    private void cancelAgainstOnNextThatHasToWait(UnaryOperator<LimitSpec<Integer>> spec) {
        takePermit();
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            int element = round;
            int[] firstToFinish = new int[1];
            race.run(
                    () -> {
                        probe.cancel();
                        firstToFinish[0] = probe.discarded.get();
                    },
                    () -> probe.upstream.onNext(element));
            assertThat(probe.discarded).hasValue(1);
            assertThat(probe.emitted).hasValue(0);
            assertThat(scheduler.pending()).isZero();
            tally(firstToFinish[0] == 0);
        }
    }

    @Test
    void cancelAgainstOnNextThatHasToWaitOrdered() {
        cancelAgainstOnNextThatHasToWait(spec -> spec);
    }

    @Test
    void cancelAgainstOnNextThatHasToWaitUnordered() {
        cancelAgainstOnNextThatHasToWait(spec -> spec.unordered(4));
    }

    private void cancelAgainstComplete(UnaryOperator<LimitSpec<Integer>> spec) {
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            race.run(probe::cancel, probe.upstream::onComplete);
            assertThat(probe.completed.get()).isLessThanOrEqualTo(1);
            tally(probe.completed.get() == 0);
        }
        takePermit();
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            probe.upstream.onNext(round);
            race.run(probe::cancel, probe.upstream::onComplete);
            assertThat(probe.discarded).hasValue(1);
            assertThat(probe.ends() + probe.emitted.get()).isZero();
            assertThat(scheduler.pending()).isZero();
        }
    }

    @Test
    void cancelAgainstCompleteOrdered() {
        cancelAgainstComplete(spec -> spec);
    }

    @Test
    void cancelAgainstCompleteUnordered() {
        cancelAgainstComplete(spec -> spec.unordered(4));
    }

    private void cancelAgainstError(UnaryOperator<LimitSpec<Integer>> spec) {
        takePermit();
        IllegalStateException boom = new IllegalStateException("boom");
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            probe.upstream.onNext(round);
            race.run(probe::cancel, () -> probe.upstream.onError(boom));
            assertThat(probe.discarded).hasValue(1);
            assertThat(probe.failed.get() + Drops.take().size()).isLessThanOrEqualTo(1);
            tally(probe.failed.get() == 0);
        }
    }

    @Test
    @ExpectsDrops
    void cancelAgainstErrorOrdered() {
        cancelAgainstError(spec -> spec);
    }

    @Test
    @ExpectsDrops
    void cancelAgainstErrorUnordered() {
        cancelAgainstError(spec -> spec.unordered(4));
    }

    private void grantAgainstEnd(UnaryOperator<LimitSpec<Integer>> spec) {
        takePermit();
        IllegalStateException boom = new IllegalStateException("boom");
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            probe.upstream.onNext(round);
            race.run(this::grant, () -> probe.upstream.onError(boom));
            scheduler.runDue();
            assertThat(probe.emitted.get() + probe.discarded.get()).isOne();
            assertThat(probe.failed).hasValue(1);
            assertThat(takePermit()).isEqualTo(probe.emitted.get() == 0);
            tally(probe.emitted.get() == 1);
        }
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(spec);
            probe.upstream.onNext(round);
            race.run(this::grant, probe.upstream::onComplete);
            assertThat(probe.emitted).hasValue(1);
            assertThat(probe.completed).hasValue(1);
            assertThat(probe.discarded).hasValue(0);
        }
    }

    @Test
    void grantAgainstEndOrdered() {
        grantAgainstEnd(spec -> spec);
    }

    @Test
    void grantAgainstEndUnordered() {
        grantAgainstEnd(spec -> spec.unordered(4));
    }

    @Test
    void cancelAgainstGrantsOfSeveralHeldElements() {
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = new Probe();
            probe.source()
                    .transform(limitRate(limiter, spec -> spec.key(i -> i % 2 == 0 ? "a" : "b")
                            .unordered(8)))
                    .subscribe(probe);
            for (int i = 0; i < 4; i++) {
                probe.upstream.onNext(i);
            }
            int passed = probe.emitted.get();
            race.run(probe::cancel, this::grant);
            assertThat(probe.emitted.get() + probe.discarded.get()).isEqualTo(4);
            int spent = probe.emitted.get() - passed;
            int back = (limiter.tryAcquireNow("a", 1) ? 1 : 0) + (limiter.tryAcquireNow("b", 1) ? 1 : 0);
            assertThat(spent + back).isEqualTo(2);
            tally(spent == 0);
            scheduler.advance(INTERVAL_NANOS);
        }
    }

    @Test
    void cancelAgainstGrantOfASubscription() {
        takePermit();
        for (int round = 0; round < ROUNDS; round++) {
            Probe probe = subscribed(LimitSpec::perSubscription);
            race.run(probe::cancel, this::grant);
            scheduler.runDue();
            assertThat(probe.subscribed.get()).isEqualTo(probe.upstreamCancelled.get());
            assertThat(takePermit()).isEqualTo(probe.subscribed.get() == 0);
            tally(probe.subscribed.get() == 0);
        }
    }

    @Test
    void cancelAgainstGrantOfALease() {
        RateLimiter one = RateLimiter.builder(ConcurrencyLimit.of(1))
                .scheduler(scheduler)
                .build();
        for (int round = 0; round < ROUNDS; round++) {
            Probe first = new Probe();
            first.source().transform(limitRate(one, LimitSpec::perSubscription)).subscribe(first);
            Probe second = new Probe();
            second.source().transform(limitRate(one, LimitSpec::perSubscription)).subscribe(second);
            assertThat(second.subscribed).hasValue(0);
            race.run(second::cancel, () -> {
                first.upstream.onComplete();
                scheduler.runDue();
            });
            scheduler.runDue();
            assertThat(second.subscribed.get()).isEqualTo(second.upstreamCancelled.get());
            tally(second.subscribed.get() == 0);
            Probe next = new Probe();
            next.source().transform(limitRate(one, spec -> spec.perSubscription().reject())).subscribe(next);
            assertThat(next.subscribed).hasValue(1);
            race.run(next::cancel, next.upstream::onComplete);
        }
    }
}

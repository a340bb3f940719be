package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.operator.RaceLanes.Lane;
import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;

/**
 * Two signals at the same moment: every element is emitted or discarded once, every permit spent or
 * returned once, no timer stays. The bucket holds one permit, so who finds it there afterwards tells.
 */
@Tag("slow")
class OperatorRaceTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 100_000 : 20_000;
    private static final TokenBucket ONE = TokenBucket.of(1, Duration.ofNanos(RaceLanes.INTERVAL_NANOS));
    private static final IllegalStateException BOOM = new IllegalStateException("boom");

    enum Mode {
        ORDERED(spec -> spec),
        UNORDERED(spec -> spec.unordered(4));

        final UnaryOperator<LimitSpec<Integer>> spec;

        Mode(UnaryOperator<LimitSpec<Integer>> spec) {
            this.spec = spec;
        }
    }

    private static RaceLanes lanes(String name) {
        return new RaceLanes(name, ONE);
    }

    private static void hold(Lane lane, Mode mode) {
        lane.subscribe(mode.spec).upstream.onNext(1);
    }

    /** The element was emitted and spent its permit, or was discarded and the permit is there for the taking. */
    private static boolean discardedOrPaidFor(Lane lane) {
        Probe probe = lane.probe;
        lane.scheduler.runDue();
        check(probe.emitted.get() + probe.discarded.get() == 1, probe);
        check(lane.takePermit() == (probe.emitted.get() == 0), probe);
        return probe.emitted.get() == 0;
    }

    /** Cheaper than an assertion library, in a million rounds. */
    private static void check(boolean holds, Probe probe) {
        if (!holds) {
            throw new AssertionError(probe);
        }
    }

    @ParameterizedTest
    @EnumSource
    void cancelAgainstGrant(Mode mode) {
        try (RaceLanes lanes = lanes("cancel against grant, " + mode).prepare(Lane::takePermit)) {
            lanes.run(ROUNDS, lane -> hold(lane, mode), lane -> lane.probe.cancel(), Lane::grant, lane -> {
                check(lane.probe.upstreamCancelled.get() == 1, lane.probe);
                return discardedOrPaidFor(lane);
            });
        }
    }

    @ParameterizedTest
    @EnumSource
    void cancelAgainstOnNextThatFindsItsPermit(Mode mode) {
        try (RaceLanes lanes = lanes("cancel against onNext with permit, " + mode)) {
            lanes.run(
                    ROUNDS,
                    lane -> {
                        lane.grant();
                        lane.subscribe(mode.spec);
                    },
                    lane -> lane.probe.cancel(),
                    lane -> lane.probe.upstream.onNext(1),
                    OperatorRaceTest::discardedOrPaidFor);
        }
    }

    @ParameterizedTest
    @EnumSource
    void cancelAgainstOnNextThatHasToWait(Mode mode) {
        try (RaceLanes lanes =
                lanes("cancel against onNext without permit, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.subscribe(mode.spec),
                    lane -> {
                        lane.probe.cancel();
                        lane.probe.seenByLeft = lane.probe.discarded.get();
                    },
                    lane -> lane.probe.upstream.onNext(1),
                    lane -> {
                        check(lane.probe.discarded.get() == 1 && lane.probe.emitted.get() == 0, lane.probe);
                        check(lane.scheduler.pending() == 0, lane.probe);
                        return lane.probe.seenByLeft == 0;
                    });
        }
    }

    /** Nobody is left to tell of the denial, and nothing is wrong: it is not dropped as an error either. */
    @ParameterizedTest
    @EnumSource
    void cancelAgainstDenial(Mode mode) {
        try (RaceLanes lanes = lanes("cancel against denial, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.subscribe(spec -> mode.spec.apply(spec).maxWait(Duration.ofNanos(1))),
                    lane -> lane.probe.cancel(),
                    lane -> lane.probe.upstream.onNext(1),
                    lane -> {
                        check(lane.probe.discarded.get() == 1 && lane.probe.failed.get() <= 1, lane.probe);
                        return lane.probe.failed.get() == 0;
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    void cancelAgainstComplete(Mode mode) {
        try (RaceLanes lanes = lanes("cancel against complete, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.subscribe(mode.spec),
                    lane -> lane.probe.cancel(),
                    lane -> lane.probe.upstream.onComplete(),
                    lane -> {
                        check(lane.probe.completed.get() <= 1, lane.probe);
                        return lane.probe.completed.get() == 0;
                    });
            lanes.run(
                    ROUNDS,
                    lane -> hold(lane, mode),
                    lane -> lane.probe.cancel(),
                    lane -> lane.probe.upstream.onComplete(),
                    lane -> {
                        check(lane.probe.discarded.get() == 1, lane.probe);
                        check(lane.probe.ends() + lane.probe.emitted.get() == 0, lane.probe);
                        check(lane.scheduler.pending() == 0, lane.probe);
                        return true;
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    @ExpectsDrops
    void cancelAgainstError(Mode mode) {
        try (RaceLanes lanes = lanes("cancel against error, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> hold(lane, mode),
                    lane -> lane.probe.cancel(),
                    lane -> lane.probe.upstream.onError(BOOM),
                    lane -> {
                        check(lane.probe.discarded.get() == 1 && lane.probe.failed.get() <= 1, lane.probe);
                        check(lane.scheduler.pending() == 0, lane.probe);
                        return lane.probe.failed.get() == 0;
                    });
        }
        assertThat(Drops.take()).allMatch(dropped -> dropped == BOOM);
    }

    @ParameterizedTest
    @EnumSource
    void grantAgainstError(Mode mode) {
        try (RaceLanes lanes = lanes("grant against error, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS, lane -> hold(lane, mode), Lane::grant, lane -> lane.probe.upstream.onError(BOOM), lane -> {
                        check(lane.probe.failed.get() == 1, lane.probe);
                        return !discardedOrPaidFor(lane);
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    void grantAgainstComplete(Mode mode) {
        try (RaceLanes lanes = lanes("grant against complete, " + mode).prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> hold(lane, mode),
                    lane -> {
                        lane.grant();
                        lane.probe.seenByLeft = lane.probe.completed.get();
                    },
                    lane -> lane.probe.upstream.onComplete(),
                    lane -> {
                        check(lane.probe.completed.get() == 1 && lane.probe.failed.get() == 0, lane.probe);
                        check(!discardedOrPaidFor(lane), lane.probe);
                        return lane.probe.seenByLeft == 0;
                    });
        }
    }

    @ParameterizedTest
    @EnumSource
    void demandAgainstGrant(Mode mode) {
        UnaryOperator<LimitSpec<Integer>> holdsOne = mode == Mode.UNORDERED ? spec -> spec.unordered(1) : mode.spec;
        try (RaceLanes lanes = lanes("demand against grant, " + mode).prepare(lane -> {
            lane.takePermit();
            lane.probe = new Probe().asksForOne();
            Flux.range(0, Integer.MAX_VALUE)
                    .transform(limitRate(lane.limiter, holdsOne))
                    .subscribe(lane.probe);
        })) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.probe.emitted.set(0),
                    Lane::grant,
                    lane -> {
                        lane.probe.seenByRight = lane.probe.emitted.get();
                        lane.probe.request(1);
                    },
                    lane -> {
                        check(lane.probe.emitted.get() == 1 && lane.probe.ends() == 0, lane.probe);
                        return lane.probe.seenByRight == 1;
                    });
            lanes.prepare(lane -> lane.probe.cancel());
        }
    }

    @Test
    void cancelAgainstGrantsOfSeveralHeldElements() {
        try (RaceLanes lanes = lanes("cancel against grants of two keys")) {
            lanes.run(
                    ROUNDS,
                    lane -> {
                        lane.grant();
                        lane.subscribe(
                                spec -> spec.key(i -> i % 2 == 0 ? "a" : "b").unordered(8));
                        for (int i = 0; i < 6; i++) {
                            lane.probe.upstream.onNext(i);
                        }
                        check(lane.probe.emitted.get() == 2, lane.probe);
                    },
                    lane -> lane.probe.cancel(),
                    Lane::grant,
                    lane -> {
                        lane.scheduler.runDue();
                        int granted = lane.probe.emitted.get() - 2;
                        int left = (DirectLimiter.of(lane.limiter).tryAcquireNow("a", 1) ? 1 : 0)
                                + (DirectLimiter.of(lane.limiter).tryAcquireNow("b", 1) ? 1 : 0);
                        check(lane.probe.emitted.get() + lane.probe.discarded.get() == 6, lane.probe);
                        check(granted + left == 2, lane.probe);
                        return granted == 0;
                    });
        }
    }

    @Test
    void cancelAgainstGrantOfASubscription() {
        try (RaceLanes lanes = lanes("cancel against grant of a subscription").prepare(Lane::takePermit)) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.subscribe(LimitSpec::perSubscription),
                    lane -> lane.probe.cancel(),
                    Lane::grant,
                    lane -> {
                        lane.scheduler.runDue();
                        int subscribed = lane.probe.subscribed.get();
                        check(subscribed == lane.probe.upstreamCancelled.get(), lane.probe);
                        check(lane.takePermit() == (subscribed == 0), lane.probe);
                        return subscribed == 0;
                    });
        }
    }

    @Test
    void cancelAgainstGrantOfALease() {
        try (RaceLanes lanes = new RaceLanes("cancel against grant of a lease", ConcurrencyLimit.of(1))) {
            lanes.run(
                    ROUNDS,
                    lane -> {
                        Probe holder = lane.subscribe(LimitSpec::perSubscription);
                        lane.subscribe(LimitSpec::perSubscription).before = holder;
                        check(lane.probe.subscribed.get() == 0, lane.probe);
                    },
                    lane -> lane.probe.cancel(),
                    lane -> {
                        lane.probe.before.upstream.onComplete();
                        lane.scheduler.runDue();
                    },
                    lane -> {
                        lane.scheduler.runDue();
                        int subscribed = lane.probe.subscribed.get();
                        check(subscribed == lane.probe.upstreamCancelled.get(), lane.probe);
                        checkLeaseIsFree(lane);
                        return subscribed == 0;
                    });
        }
    }

    @Test
    void cancelAgainstEndOfTheWorkThatHoldsALease() {
        try (RaceLanes lanes = new RaceLanes("cancel against end of leased work", ConcurrencyLimit.of(1))) {
            lanes.run(
                    ROUNDS,
                    lane -> lane.subscribe(LimitSpec::perSubscription),
                    lane -> {
                        lane.probe.cancel();
                        lane.probe.seenByLeft = lane.probe.completed.get();
                    },
                    lane -> lane.probe.upstream.onComplete(),
                    lane -> {
                        checkLeaseIsFree(lane);
                        return lane.probe.seenByLeft == 0;
                    });
        }
    }

    private static void checkLeaseIsFree(Lane lane) {
        Probe next = new Probe();
        next.source()
                .transform(
                        limitRate(lane.limiter, spec -> spec.perSubscription().reject()))
                .subscribe(next);
        check(next.subscribed.get() == 1, next);
        Probe tooMany = new Probe();
        tooMany.source()
                .transform(
                        limitRate(lane.limiter, spec -> spec.perSubscription().reject()))
                .subscribe(tooMany);
        check(tooMany.failed.get() == 1, tooMany);
        next.cancel();
    }
}

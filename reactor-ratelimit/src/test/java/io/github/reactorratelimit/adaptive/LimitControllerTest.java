package io.github.reactorratelimit.adaptive;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What the control makes of recorded calls: no clock, no threads. Times have an odd and negative origin. */
class LimitControllerTest {

    private static final long ORIGIN = -7_000_000_007L;
    private static final long MILLI = 1_000_000;

    private long now = ORIGIN;

    private LimitController control(AdaptivePolicy policy) {
        return new LimitController(policy, now);
    }

    /** Calls one after the other, evenly spaced over the time, each back after {@code latency}. */
    private void calls(LimitController control, int calls, Duration over, Duration latency, CallOutcome outcome) {
        long gap = over.toNanos() / calls;
        for (int i = 0; i < calls; i++) {
            long started = now;
            control.started();
            now += gap;
            control.cameBack(now - Math.min(now - started, latency.toNanos()), now, outcome);
            control.ended();
        }
    }

    /** A second in which the limit is used up and nothing is wrong. */
    private void goodSecond(LimitController control) {
        calls(control, (int) control.limit(), ofSeconds(1), ofMillis(5), CallOutcome.SUCCESS);
    }

    private void refusal(LimitController control, long startedNanos) {
        control.started();
        control.cameBack(startedNanos, now, CallOutcome.OVERLOAD);
        control.ended();
    }

    private static AdaptiveRate perSecond(long initial) {
        return AdaptiveRate.aimd(5, 500, ofSeconds(1))
                .withInitial(initial)
                .withAdaptation(Adaptation.aimd().withToleratedOverload(0));
    }

    @Test
    void limitDoublesWithEachWindowUntilSomethingIsRefused() {
        LimitController control = control(perSecond(20));
        calls(control, 10, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(40);
        calls(control, 20, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(80);
    }

    @Test
    void windowsAreNotCutShort() {
        LimitController control = control(perSecond(20));
        calls(control, 10, ofMillis(499), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).as("too early").isEqualTo(20);

        LimitController few = control(perSecond(20));
        calls(few, 9, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(few.limit()).as("too few").isEqualTo(20);
    }

    @Test
    void limitThatIsNotUsedUpDoesNotGrow() {
        LimitController control = control(perSecond(100));
        for (int i = 0; i < 60; i++) {
            calls(control, 50, ofSeconds(1), ofMillis(5), CallOutcome.SUCCESS);
        }
        assertThat(control.limit()).isEqualTo(100);
    }

    @Test
    void concurrencyThatIsNotUsedUpDoesNotGrow() {
        LimitController control = control(AdaptiveConcurrency.aimd(1, 500).withInitial(10));
        calls(control, 100, ofSeconds(10), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(10);
        for (int i = 0; i < 8; i++) {
            control.started();
        }
        calls(control, 100, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(20);
    }

    @Test
    void firstRefusalCostsATenthAndCallsSentBeforeItCostNothingMore() {
        LimitController control = control(perSecond(100));
        long before = now;
        now += 10 * MILLI;
        refusal(control, before);
        assertThat(control.limit()).isEqualTo(90);
        for (int i = 0; i < 100; i++) {
            now += 20 * MILLI;
            refusal(control, before);
        }
        assertThat(control.limit()).isEqualTo(90);
    }

    @Test
    void rowOfRefusalsHalvesTheLimitAndCallsSentBeforeItCostNothingMore() {
        LimitController control = control(perSecond(100));
        long before = now;
        now += 200 * MILLI;
        for (int i = 0; i < 100; i++) {
            refusal(control, before + i * MILLI);
        }
        assertThat(control.limit()).isEqualTo(45);
    }

    @Test
    void refusalsThatGoOnLowerTheLimitByHalfAtMostUntilWhatIsServed() {
        LimitController control = control(perSecond(100));
        for (int i = 0; i < 50; i++) {
            calls(control, 1, ofMillis(100), ofMillis(5), CallOutcome.SUCCESS);
            calls(control, 4, ofMillis(100), ofMillis(5), CallOutcome.OVERLOAD);
            assertThat(control.limit()).isBetween(5L, 100L);
        }
        assertThat(control.limit()).as("5 per second were served").isBetween(5L, 6L);
    }

    @Test
    void refusalsThatCeaseAreOneOverload() {
        LimitController control = control(perSecond(100));
        now += 10 * MILLI;
        refusal(control, now);
        calls(control, 5, ofMillis(50), ofMillis(5), CallOutcome.OVERLOAD);
        calls(control, 95, ofMillis(950), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(90);
    }

    @Test
    void whereNextToNothingIsServedTheLimitIsHalvedAtOnceAndComesBackToWhereItWas() {
        LimitController control = control(perSecond(100));
        now += 10 * MILLI;
        refusal(control, now);
        calls(control, 6, ofMillis(60), ofMillis(5), CallOutcome.OVERLOAD);
        assertThat(control.limit()).isEqualTo(45);
        for (int i = 0; i < 4; i++) {
            goodSecond(control);
        }
        assertThat(control.limit()).as("not what was served meanwhile").isBetween(95L, 105L);
    }

    @Test
    void collapseOfALimitThatHadDoubledComesBackToTheHalfAndGoesOnFromThere() {
        LimitController control = control(perSecond(20));
        calls(control, 10, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        calls(control, 20, ofMillis(500), ofMillis(5), CallOutcome.SUCCESS);
        assertThat(control.limit()).isEqualTo(80);
        calls(control, 4, ofMillis(40), ofMillis(5), CallOutcome.OVERLOAD);
        assertThat(control.limit()).isEqualTo(36);
        goodSecond(control);
        goodSecond(control);
        assertThat(control.limit())
                .as("40 was borne, so it is probed from there")
                .isBetween(41L, 50L);
    }

    @Test
    void whatAProbeCostIsPaidForBeforeTheNextOne() {
        assertThat(secondsUntilTheNextProbe(1)).isEqualTo(5);
        assertThat(secondsUntilTheNextProbe(8)).isBetween(6, 8);
        assertThat(secondsUntilTheNextProbe(500)).as("not for ever").isBetween(9, 12);
    }

    /** Calls that were sent before the decrease, some of which are served: what cannot lower the limit once more, and is no collapse. */
    private int secondsUntilTheNextProbe(int refusals) {
        LimitController control = control(perSecond(100));
        long before = now;
        now += 10 * MILLI;
        for (int i = 0; i < refusals; i++) {
            refusal(control, before);
            control.cameBack(before, now, CallOutcome.SUCCESS);
        }
        int seconds = 0;
        while (control.limit() <= 100) {
            goodSecond(control);
            seconds++;
        }
        return seconds;
    }

    @Test
    void limitComesUpFromTheFloorWhenNothingFailsAnyMore() {
        LimitController control = control(perSecond(100));
        calls(control, 1_000, ofSeconds(60), ofMillis(5), CallOutcome.OVERLOAD);
        assertThat(control.limit()).isEqualTo(5);
        for (int i = 0; i < 20; i++) {
            goodSecond(control);
        }
        assertThat(control.limit()).as("after 20 s").isGreaterThan(100);
    }

    @Test
    void firstRefusalBeyondTheLastOverloadCostsTheLastStepsToo() {
        LimitController control = control(perSecond(100));
        now += 10 * MILLI;
        refusal(control, now);
        while (control.limit() < 120) {
            goodSecond(control);
        }
        now += 10 * MILLI;
        refusal(control, now);
        assertThat(control.limit()).as("a tenth less than was borne for long").isBetween(90L, 100L);
    }

    @Test
    void limitStaysBetweenFloorAndCeiling() {
        LimitController control = control(AdaptiveRate.aimd(5, 50, ofSeconds(1)));
        for (int i = 0; i < 20; i++) {
            goodSecond(control);
        }
        assertThat(control.limit()).isEqualTo(50);
        calls(control, 1_000, ofSeconds(60), ofMillis(5), CallOutcome.OVERLOAD);
        assertThat(control.limit()).isEqualTo(5);
    }

    @Test
    void growthIsSlowNearTheLastOverloadAndFastBeyond() {
        LimitController control = control(perSecond(100));
        now += 10 * MILLI;
        refusal(control, now);
        goodSecond(control);
        goodSecond(control);
        goodSecond(control);
        assertThat(control.limit()).as("after 3 s, near 100").isBetween(98L, 99L);
        for (int i = 0; i < 6; i++) {
            goodSecond(control);
        }
        assertThat(control.limit()).as("after 9 s").isGreaterThan(150);
    }

    @Test
    void failuresThatSayNothingChangeNothing() {
        LimitController control = control(perSecond(20));
        calls(control, 1_000, ofSeconds(10), ofMillis(5), CallOutcome.IGNORED);
        assertThat(control.limit()).isEqualTo(20);
        assertThat(control.lastOverloadNanos()).isEmpty();
    }

    @Test
    void cancelledCallsAreGoneAndSayNothing() {
        LimitController control = control(perSecond(20));
        for (int i = 0; i < 1_000; i++) {
            control.started();
            now += 10 * MILLI;
            control.ended();
        }
        assertThat(control.limit()).isEqualTo(20);
        assertThat(control.inFlight()).isZero();
        assertThat(control.baselineNanos()).isEmpty();
    }

    @Test
    void shareOfFailuresThatIsToleratedLowersNothing() {
        AdaptiveRate policy = perSecond(100).withAdaptation(Adaptation.aimd().withToleratedOverload(0.02));
        LimitController control = control(policy);
        calls(control, 40, ofSeconds(1), ofMillis(5), CallOutcome.SUCCESS);
        calls(control, 40, ofSeconds(1), ofMillis(5), CallOutcome.SUCCESS);
        for (int i = 0; i < 100; i++) {
            refusal(control, now);
            calls(control, 99, ofSeconds(3), ofMillis(5), CallOutcome.SUCCESS);
        }
        assertThat(control.limit()).isEqualTo(100);
        assertThat(control.lastOverloadNanos()).isPresent();
    }

    @Test
    void slowCallsLowerTheLimitOnlyIfItIsSaidWhatIsSlow() {
        Adaptation slow = Adaptation.aimd().withSlowCalls(ofMillis(100));
        LimitController told = control(perSecond(100).withAdaptation(slow));
        LimitController untold = control(perSecond(100));
        calls(told, 50, ofSeconds(50), ofMillis(101), CallOutcome.SUCCESS);
        calls(untold, 50, ofSeconds(50), ofMillis(101), CallOutcome.SUCCESS);
        assertThat(told.limit()).isLessThan(60);
        assertThat(untold.limit()).isEqualTo(100);
    }

    @Test
    void latencyFarAboveItsBaselineLowersTheLimit() {
        LimitController control =
                control(AdaptiveRate.gradient(5, 500, ofSeconds(1)).withInitial(100));
        calls(control, 50, ofSeconds(1), ofMillis(10), CallOutcome.SUCCESS);
        assertThat(control.baselineNanos()).hasValue(10 * MILLI);
        calls(control, 60, ofSeconds(1), ofMillis(14), CallOutcome.SUCCESS);
        assertThat(control.limit()).as("within what is tolerated").isEqualTo(100);
        calls(control, 30, ofSeconds(3), ofMillis(100), CallOutcome.SUCCESS);
        assertThat(control.limit()).isLessThan(60);
    }

    @Test
    void latencyThatStaysWhateverIsSentBecomesTheBaseline() {
        LimitController control =
                control(AdaptiveRate.gradient(5, 500, ofSeconds(1)).withInitial(100));
        calls(control, 50, ofSeconds(1), ofMillis(10), CallOutcome.SUCCESS);
        for (int i = 0; i < 20; i++) {
            calls(control, 20, ofSeconds(1), ofMillis(40), CallOutcome.SUCCESS);
        }
        assertThat(control.baselineNanos()).hasValue(40 * MILLI);
    }

    @Test
    void baselineOfLongAgoIsForgotten() {
        LatencyBaseline baseline = new LatencyBaseline(ofSeconds(60).toNanos(), now);
        assertThat(baseline.nanos()).isEmpty();
        baseline.record(10 * MILLI, now);
        now += ofSeconds(31).toNanos();
        baseline.record(30 * MILLI, now);
        assertThat(baseline.nanos()).hasValue(10 * MILLI);
        now += ofSeconds(31).toNanos();
        baseline.record(40 * MILLI, now);
        assertThat(baseline.nanos()).hasValue(30 * MILLI);
        now += ofSeconds(120).toNanos();
        baseline.record(50 * MILLI, now);
        assertThat(baseline.nanos()).hasValue(50 * MILLI);
    }
}

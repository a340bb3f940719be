package io.github.reactorratelimit.adaptive;

import java.time.Duration;
import java.util.OptionalLong;

/**
 * Decides the limit from calls that start, come back and end. It has no clock and no threads: the caller
 * passes the time, and calls it on one thread at a time. Times are nanoseconds of any origin.
 *
 * <p>The rules, and the reasons:
 *
 * <ul>
 *   <li><strong>One decrease for one overload.</strong> Calls that were sent before a decrease say nothing
 *       about the lower limit. Only if calls pile up in spite of it, the limit falls again before they come
 *       back: otherwise the next evidence would arrive when the downstream has worked off its queue.
 *   <li><strong>As low as needed.</strong> The first rejection after a calm time lowers the limit by a tenth.
 *       If rejections go on, the throughput of the downstream shows how much it can bear. A limit is at most
 *       halved at a time, because a window may be a bad sample.
 *   <li><strong>A collapse has no throughput</strong> ({@link CollapseDetector}). The limit is halved
 *       immediately, and again until a call is served; then each window doubles it up to the last load that
 *       was borne ({@link LimitGrowth}).
 *   <li><strong>A queue is drained.</strong> A rate equal to the throughput keeps a queue forever. While
 *       calls are slow the rate is lower, so that the queue drains in about a second, but not below half of
 *       the throughput. Then it returns to nine tenths of the throughput.
 *   <li><strong>No growth without use.</strong> An unused limit says nothing about a higher one.
 *   <li><strong>Hysteresis.</strong> Between the latency that calls for a decrease and the one that allows
 *       growth nothing moves.
 *   <li><strong>The baseline can move.</strong> If latency stays high although less and less is sent, these
 *       calls do not cause it: it becomes the new baseline.
 * </ul>
 */
final class LimitController {

    private static final double BACK = 0.9;
    private static final double MOST_BACK = 0.5;
    private static final long DRAIN_NANOS = 1_000_000_000L;
    /** So little latency above the baseline never causes a decrease. */
    private static final long LEAST_EXCESS_NANOS = 5_000_000L;
    /** After so many decreases in a row without effect the latency becomes the baseline. */
    private static final int VAIN = 3;
    /**
     * Windows for which a latency that is almost too long stops growth. If it is unchanged then, no queue
     * grows.
     */
    private static final int MOST_HELD = 4;
    /** The most rejections in a row that count as chance. */
    private static final double MOST_CHANCES = 2;

    /**
     * If a larger share is served, rejections are judged after two windows: few of them are a poor sample.
     */
    private static final double FEW = 0.5;

    /** The share of calls by which more may be sent than comes back, as chance. */
    private static final double AHEAD = 0.05;

    private final double floor;
    private final double ceiling;
    private final Adaptation adaptation;
    private final LimitUnit unit;
    private final long windowNanos;
    private final LimitGrowth growth = new LimitGrowth();
    private final CollapseDetector collapse = new CollapseDetector();
    private final LatencyBaseline baseline;

    private SampleWindow window;
    private double limit;
    private double lastGrowth;
    private long inFlight;
    private double chances;
    private OptionalLong lastOverloadNanos = OptionalLong.empty();

    /** Calls are slow: the limit returns to the throughput afterwards. */
    private boolean draining;

    private double borne;
    private double beforeDraining;
    private double beforeVain;
    private long latencyBefore = Long.MAX_VALUE;
    private int inVain;

    /** Windows in a row whose latency was almost too long. */
    private int held;

    LimitController(AdaptivePolicy policy, long nowNanos) {
        this.floor = policy.floor();
        this.ceiling = policy.ceiling();
        this.adaptation = policy.adaptation();
        this.unit = LimitUnit.of(policy);
        this.windowNanos = adaptation.window().toNanos();
        this.window = new SampleWindow(nowNanos);
        this.baseline = new LatencyBaseline(adaptation.baselineWindow().toNanos(), nowNanos);
        this.limit = policy.initial();
    }

    void started() {
        inFlight++;
        window.started(inFlight);
    }

    /** A call ended, or was cancelled. */
    void ended() {
        inFlight--;
    }

    /** A call came back with an outcome. */
    void cameBack(long startedNanos, long nowNanos, CallOutcome outcome) {
        switch (outcome) {
            case IGNORED -> {}
            case SUCCESS -> {
                chances = Math.min(MOST_CHANCES, chances + adaptation.toleratedOverload());
                if (collapse.endsWith(startedNanos)) {
                    window = window.next(nowNanos, inFlight);
                }
                window.served(startedNanos, nowNanos);
                if (draining && isDrained()) {
                    endDraining(borne, nowNanos);
                } else {
                    judge(nowNanos);
                }
            }
            case OVERLOAD -> overloaded(startedNanos, nowNanos);
        }
    }

    private void overloaded(long startedNanos, long nowNanos) {
        lastOverloadNanos = OptionalLong.of(nowNanos);
        boolean byChance = false;
        if (collapse.comesWith(startedNanos, inFlight)) {
            if (growth.isProbing() && window.delivered() == 0) {
                collapse.remember();
            }
            collapsed(nowNanos);
        } else if (window.isEvidence(startedNanos)) {
            byChance = chances >= 1;
            chances -= byChance ? 1 : 0;
            refusedOne(startedNanos, nowNanos, byChance);
        }
        if (!byChance) {
            growth.refused();
        }
    }

    private void refusedOne(long startedNanos, long nowNanos, boolean byChance) {
        boolean first = window.overloads() == 0 && window.wasCalmFor(2 * windowNanos, nowNanos);
        window.overloaded(startedNanos, nowNanos, byChance);
        if (!first) {
            collapse.refusedMore();
            judge(nowNanos);
        } else if (byChance) {
            judge(nowNanos);
        } else if (collapse.isExpected() && growth.hasMoved()) {
            collapsed(nowNanos);
        } else {
            refused(growth.beforeLastSteps(limit), nowNanos);
        }
    }

    private void judge(long nowNanos) {
        if (window.ageNanos(nowNanos) < windowNanos) {
            return;
        }
        long latency = window.latencyNanos();
        if (window.overloads() > 0 && window.servedShare() > FEW && window.ageNanos(nowNanos) < 2 * windowNanos) {
            return;
        }
        if (window.evidence() >= adaptation.samples() && window.keepsOverloading(nowNanos)) {
            refused(unit.borne(limit, window, nowNanos), nowNanos);
        } else if (window.evidence() >= adaptation.samples() && latency > bearableNanos()) {
            slow(latency, nowNanos);
        } else if (draining && window.delivered() >= adaptation.samples() && window.piledUp(inFlight) > 0) {
            lowerTo(drainingRate(latencyBefore, nowNanos), nowNanos);
        } else if (window.fresh() >= adaptation.samples()) {
            fine(latency, nowNanos);
        }
    }

    /** Lowers the limit below {@code bearable}. */
    private void refused(double bearable, long nowNanos) {
        double tooMuch = Math.max(MOST_BACK / BACK * limit, Math.min(limit, bearable));
        draining = false;
        lowerTo(BACK * tooMuch, nowNanos);
        growth.beginAt(limit, tooMuch);
    }

    private void collapsed(long nowNanos) {
        draining = false;
        collapse.begin(nowNanos);
        growth.collapsed();
        lowerTo(MOST_BACK * limit, nowNanos);
    }

    private void slow(long latency, long nowNanos) {
        lastOverloadNanos = OptionalLong.of(nowNanos);
        if (!draining) {
            draining = true;
            beforeDraining = limit;
        }
        inVain = latency >= BACK * latencyBefore ? inVain + 1 : 0;
        latencyBefore = latency;
        if (inVain == 0) {
            beforeVain = limit;
        } else if (inVain > VAIN && latency <= statedNanos()) {
            baseline.adopt(latency, nowNanos);
            endDraining(beforeVain, nowNanos);
            return;
        }
        lowerTo(drainingRate(latency, nowNanos), nowNanos);
    }

    /** A rate below the throughput, so that the queue drains in a second; at least half of it. */
    private double drainingRate(long latency, long nowNanos) {
        borne = Math.min(beforeDraining, unit.borneSlowly(limit, window, latency, bearableNanos(), nowNanos));
        if (!unit.drains()) {
            return BACK * borne;
        }
        long excess = latency - baseline.nanos().orElse(latency);
        return borne * Math.max(MOST_BACK, Math.min(BACK, 1 - (double) excess / DRAIN_NANOS));
    }

    private void lowerTo(double lower, long nowNanos) {
        limit = Math.max(floor, Math.max(MOST_BACK * limit, Math.min(limit, lower)));
        held = 0;
        window = SampleWindow.afterDecrease(nowNanos, inFlight);
    }

    private void endDraining(double bearable, long nowNanos) {
        draining = false;
        limit = bounded(Math.max(limit, BACK * bearable));
        growth.beginAt(limit, Math.max(limit, bearable));
        window = window.next(nowNanos, inFlight);
    }

    /** Whether no more calls are in flight than without a queue. */
    private boolean isDrained() {
        OptionalLong lowest = baseline.nanos();
        return lowest.isPresent() && unit.isWithoutQueue(limit, inFlight, lowest.getAsLong());
    }

    private void fine(long latency, long nowNanos) {
        if (latency > 0) {
            baseline.record(latency, nowNanos);
        }
        inVain = 0;
        latencyBefore = Long.MAX_VALUE;
        if (draining) {
            endDraining(borne, nowNanos);
            return;
        }
        if (window.tolerated() + window.overloads() > 0) {
            growth.pause();
        } else if (latency > almostTooLongNanos() && ++held <= MOST_HELD) {
            growth.pause();
        } else if (unit.isUsedUp(limit, window, nowNanos)) {
            grow(latency > almostTooLongNanos(), nowNanos);
        }
        window = window.next(nowNanos, inFlight);
    }

    private void grow(boolean gently, long nowNanos) {
        double before = limit;
        double ahead = unit.ahead(window, inFlight, lastGrowth);
        if (ahead <= AHEAD) {
            limit = bounded(growth.after(limit, window.ageNanos(nowNanos), window.delivered(), gently || ahead > 0));
        }
        lastGrowth = limit - before;
        held = gently ? held : 0;
    }

    private double bounded(double wanted) {
        return Math.max(floor, Math.min(ceiling, wanted));
    }

    /** The latency that the user calls slow. */
    private long statedNanos() {
        return adaptation.slowCalls().map(Duration::toNanos).orElse(Long.MAX_VALUE);
    }

    /** A mean latency above this is too long. */
    private long bearableNanos() {
        long stated = statedNanos();
        OptionalLong lowest = baseline.nanos();
        if (adaptation.rule() != Adaptation.Rule.GRADIENT || lowest.isEmpty()) {
            return stated;
        }
        double excess = Math.max(LEAST_EXCESS_NANOS, lowest.getAsLong() * (adaptation.latencyTolerance() - 1));
        return Math.min(stated, (long) (lowest.getAsLong() + excess));
    }

    /** Half way from the baseline to what is too long. */
    private long almostTooLongNanos() {
        long tooLong = bearableNanos();
        OptionalLong lowest = baseline.nanos();
        return lowest.isEmpty() || tooLong == Long.MAX_VALUE ? tooLong : (lowest.getAsLong() + tooLong) / 2;
    }

    /** The limit in effect: whole permits. */
    long limit() {
        return (long) limit;
    }

    long inFlight() {
        return inFlight;
    }

    OptionalLong baselineNanos() {
        return baseline.nanos();
    }

    OptionalLong lastOverloadNanos() {
        return lastOverloadNanos;
    }
}

package io.github.reactorratelimit.adaptive;

import java.util.OptionalLong;

/**
 * Decides how high the limit is, from calls that start, come back and are gone. No clock and no threads: it is told the time, and by one caller at a time.
 * Times are nanoseconds of any origin.
 *
 * <p>The rules, and why:
 *
 * <ul>
 *   <li><strong>One decrease for one overload.</strong> Calls that were sent before a decrease say nothing about the limit it left. Only if more and more are
 *       in flight although the limit is lower, it is lowered again before they come back: otherwise the next word would come when the queue has been
 *       worked off.
 *   <li><strong>As low as needed.</strong> The first refusal after a calm time costs a tenth. If they go on, what the downstream served meanwhile says how
 *       much it can bear; still a limit is at most halved at a time, because a window may be a bad sample.
 *   <li><strong>Where nothing is served, that says nothing</strong> ({@link Collapse}). The limit is halved at once, and again until something is served; then it is
 *       doubled with each window up to what is known to be borne ({@link Growth}).
 *   <li><strong>A queue is drained.</strong> Sending just as much as is served keeps a queue for ever. While calls are slow the rate is lower than what is
 *       served, by as much as drains the queue in about a second, and at most by half; then it goes back to nine tenths of what was served.
 *   <li><strong>No growth without use.</strong> Whoever does not use the limit up learns nothing about a higher one.
 *   <li><strong>Hysteresis.</strong> Between what calls for a decrease and what allows growth nothing moves.
 *   <li><strong>A baseline can move.</strong> Where latency stays although ever less is sent, it is not the queue of these calls: it is the new baseline.
 * </ul>
 */
final class Control {

    private static final double BACK = 0.9;
    private static final double MOST_BACK = 0.5;
    private static final long DRAIN_NANOS = 1_000_000_000L;
    /** Latency above its baseline that is not worth a decrease, whatever the tolerance. */
    private static final long LEAST_EXCESS_NANOS = 5_000_000L;
    /** Decreases in a row without effect on latency after which it is the downstream's own. */
    private static final int VAIN = 3;
    /** Windows for which a latency that is almost too long keeps the limit where it is. If it is still the same then, it is no queue that grows. */
    private static final int MOST_HELD = 4;
    /** Refusals that may be saved up as chance. */
    private static final double MOST_CHANCES = 2;

    /** Where so large a share is served, refusals are looked at for two windows: they may cease, and few of them are a poor sample. */
    private static final double FEW = 0.5;

    /** So much more may be sent than comes back, as a share: chance. */
    private static final double AHEAD = 0.05;

    private final double floor;
    private final double ceiling;
    private final Adaptation adaptation;
    private final Measure measure;
    private final long windowNanos;
    private final Window window;
    private final Growth growth = new Growth();
    private final Collapse collapse = new Collapse();
    private final Baseline baseline;

    private double limit;
    private double lastGrowth;
    private long inFlight;
    private double chances;
    private boolean overloadSeen;
    private long lastOverloadNanos;

    /** Calls are slow: what was served is what to come back to. */
    private boolean draining;

    private double borne;
    private double beforeDraining;
    private double beforeVain;
    private long latencyBefore = Long.MAX_VALUE;
    private int inVain;

    /** Windows in a row whose latency was almost too long. */
    private int held;

    Control(AdaptivePolicy policy, long nowNanos) {
        this.floor = policy.floor();
        this.ceiling = policy.ceiling();
        this.adaptation = policy.adaptation();
        this.measure = Measure.of(policy);
        this.windowNanos = adaptation.window().toNanos();
        this.window = new Window(nowNanos);
        this.baseline = new Baseline(adaptation.baselineWindow().toNanos(), nowNanos);
        this.limit = policy.initial();
    }

    void started() {
        inFlight++;
        window.started(inFlight);
    }

    /** A call ended, or its subscriber left. */
    void gone() {
        inFlight--;
    }

    /** A call came back. */
    void cameBack(long startedNanos, long nowNanos, CallOutcome outcome) {
        switch (outcome) {
            case IGNORED -> {}
            case SUCCESS -> {
                chances = Math.min(MOST_CHANCES, chances + adaptation.toleratedOverload());
                if (collapse.endsWith(startedNanos)) {
                    window.begin(nowNanos, inFlight);
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
        overloadSeen = true;
        lastOverloadNanos = nowNanos;
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
            refused(measure.borne(limit, window, nowNanos), nowNanos);
        } else if (window.evidence() >= adaptation.samples() && latency > bearableNanos()) {
            slow(latency, nowNanos);
        } else if (draining && window.delivered() >= adaptation.samples() && window.piledUp(inFlight) > 0) {
            lowerTo(drainingRate(latencyBefore, nowNanos), nowNanos);
        } else if (window.fresh() >= adaptation.samples()) {
            fine(latency, nowNanos);
        }
    }

    /** More than {@code bearable} is too much. */
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
        overloadSeen = true;
        lastOverloadNanos = nowNanos;
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

    /** So much less than what is served that the queue is gone in a second, or half of it. */
    private double drainingRate(long latency, long nowNanos) {
        borne = Math.min(beforeDraining, measure.borneSlowly(limit, window, latency, bearableNanos(), nowNanos));
        if (!measure.drains()) {
            return BACK * borne;
        }
        long excess = latency - baseline.nanos().orElse(latency);
        return borne * Math.max(MOST_BACK, Math.min(BACK, 1 - (double) excess / DRAIN_NANOS));
    }

    private void lowerTo(double lower, long nowNanos) {
        limit = Math.max(floor, Math.max(MOST_BACK * limit, Math.min(limit, lower)));
        held = 0;
        window.beginLower(nowNanos, inFlight);
    }

    private void endDraining(double bearable, long nowNanos) {
        draining = false;
        limit = bounded(Math.max(limit, BACK * bearable));
        growth.beginAt(limit, Math.max(limit, bearable));
        window.begin(nowNanos, inFlight);
    }

    /** Whether no more are in flight than there would be without a queue. */
    private boolean isDrained() {
        OptionalLong lowest = baseline.nanos();
        return lowest.isPresent() && measure.isWithoutQueue(limit, inFlight, lowest.getAsLong());
    }

    private void fine(long latency, long nowNanos) {
        if (latency > 0) {
            baseline.saw(latency, nowNanos);
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
        } else if (measure.isUsedUp(limit, window, nowNanos)) {
            grow(latency > almostTooLongNanos(), nowNanos);
        }
        window.begin(nowNanos, inFlight);
    }

    private void grow(boolean gently, long nowNanos) {
        double before = limit;
        double ahead = measure.ahead(window, inFlight, lastGrowth);
        if (ahead <= AHEAD) {
            limit = bounded(growth.after(limit, window.ageNanos(nowNanos), window.delivered(), gently || ahead > 0));
        }
        lastGrowth = limit - before;
        held = gently ? held : 0;
    }

    private double bounded(double wanted) {
        return Math.max(floor, Math.min(ceiling, wanted));
    }

    /** What was said to be slow, whatever the baseline. */
    private long statedNanos() {
        return adaptation.slowCalls().isPresent() ? adaptation.slowCalls().get().toNanos() : Long.MAX_VALUE;
    }

    /** Mean latency above this is too long. */
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

    /** The limit in force: whole permits. */
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
        return overloadSeen ? OptionalLong.of(lastOverloadNanos) : OptionalLong.empty();
    }
}

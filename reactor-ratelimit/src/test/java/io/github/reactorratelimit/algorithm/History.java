package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.algorithm.ReferenceModel.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/**
 * A random history of one key, run through an algorithm and its model side by side. Whoever was denied
 * often comes back within one tick of the time it was told.
 */
final class History<S> {

    static final int STEPS = 52;

    private static final long NONE = Long.MAX_VALUE;

    private final Scenario scenario;
    private final Algorithm<S> algorithm;
    private final Algorithm<Object> packed;
    private final ReferenceModel model;
    private final SplittableRandom random;
    private final Tally tally;
    private final List<Grant> grants = new ArrayList<>();

    /** Grants and what was charged without asking, but for what was refunded. */
    private final List<Grant> debits = new ArrayList<>();

    private S state;
    private Object packedState;
    private long now;
    private long promised = NONE;
    private long promisedPermits;
    private boolean debitedSinceRefund;
    private int refunds;

    private History(Scenario scenario, Algorithm<S> algorithm, SplittableRandom random, Tally tally) {
        this.scenario = scenario;
        this.algorithm = algorithm;
        this.packed = packed(algorithm);
        this.model = scenario.model().get();
        this.random = random;
        this.tally = tally;
        this.state = algorithm.fresh();
        this.packedState = packed == null ? null : packed.fresh();
        this.now = scenario.startTick();
    }

    /** The algorithm over smaller states; null if there is none. It is given only states that it made. */
    @SuppressWarnings("unchecked")
    private static Algorithm<Object> packed(Algorithm<?> algorithm) {
        Algorithm<?> compact = algorithm.compact();
        return compact == algorithm ? null : (Algorithm<Object>) compact;
    }

    /** What was counted over many histories. */
    static final class Tally {
        long steps;
        long denials;
        long atBoundary;
        long refunds;
        long overdrafts;
        long packedHistories;

        static Tally sum(Tally left, Tally right) {
            Tally sum = new Tally();
            sum.steps = left.steps + right.steps;
            sum.denials = left.denials + right.denials;
            sum.atBoundary = left.atBoundary + right.atBoundary;
            sum.refunds = left.refunds + right.refunds;
            sum.overdrafts = left.overdrafts + right.overdrafts;
            sum.packedHistories = left.packedHistories + right.packedHistories;
            return sum;
        }
    }

    static Tally run(Scenario.Kind kind, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Scenario scenario = kind.scenario(random);
        Tally tally = new Tally();
        try {
            start(scenario, Algorithms.of(scenario.policy(), scenario.clock()), random, tally);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("history seed " + seed + ", " + scenario + ": " + e.getMessage(), e);
        }
        return tally;
    }

    private static <S> void start(Scenario scenario, Algorithm<S> algorithm, SplittableRandom random, Tally tally) {
        History<S> history = new History<>(scenario, algorithm, random, tally);
        for (int i = 0; i < STEPS; i++) {
            history.step();
        }
        history.model.checkWorstCase(history.grants);
        tally.packedHistories += history.packed == null ? 0 : 1;
    }

    private void step() {
        tally.steps++;
        if (promised != NONE && random.nextInt(10) < 7) {
            now = Math.max(now, promised - 1 + random.nextInt(3));
            tally.atBoundary += Math.abs(now - promised) <= 1 ? 1 : 0;
            ask(promisedPermits);
            return;
        }
        now += pause();
        if (!grants.isEmpty() && random.nextInt(10) == 0) {
            refund();
        } else if (scenario.policy().settles() && random.nextInt(12) == 0) {
            overdraw();
        } else {
            ask(permits());
        }
    }

    private long pause() {
        return switch (random.nextInt(20)) {
            case 0, 1, 2, 3, 4, 5, 6 -> 0;
            case 7, 8, 9 -> random.nextInt(4);
            case 10, 11, 12, 13, 14 -> random.nextLong(2 * scenario.stepTicks());
            case 15, 16, 17, 18 -> random.nextLong(scenario.recoverTicks() + 1);
            default -> random.nextLong(3 * scenario.recoverTicks() + 1);
        };
    }

    private long permits() {
        long capacity = algorithm.capacity();
        long remaining = Math.max(0, model.remaining(now));
        long wanted = switch (random.nextInt(6)) {
            case 0, 1 -> 1;
            case 2 -> remaining;
            case 3 -> remaining + 1;
            default -> 1 + random.nextLong(capacity);
        };
        long permits = Math.max(1, Math.min(capacity, wanted));
        boolean atEdge = permits == remaining || permits == remaining + 1;
        tally.atBoundary += scenario.policy() instanceof ConcurrencyLimit && atEdge ? 1 : 0;
        return permits;
    }

    private void ask(long permits) {
        promised = NONE;
        long wait = algorithm.waitTicks(state, now, permits);
        if (packed != null) {
            same("packed wait", packed.waitTicks(packedState, now, permits), wait);
        }
        boolean allowed = model.allows(now, permits);
        same("wait", wait, allowed ? 0 : model.retry(now, permits));
        if (allowed) {
            debit(permits);
        } else {
            deny(wait, permits);
        }
        compare();
    }

    private void debit(long permits) {
        state = algorithm.debit(state, now, permits);
        packedState = packed == null ? null : packed.debit(packedState, now, permits);
        long first = scenario.policy().settles() ? 1 + random.nextLong(permits) : permits;
        grant(first);
        if (first < permits) {
            grant(permits - first);
        }
    }

    /** What is debited together may be given back in part. */
    private void grant(long permits) {
        Grant grant = new Grant(now, permits);
        debitedSinceRefund = refunds > 0;
        model.debit(now, permits);
        grants.add(grant);
        debits.add(grant);
    }

    private void overdraw() {
        tally.overdrafts++;
        promised = NONE;
        long permits = 1 + random.nextLong(3 * algorithm.capacity());
        long maxDebt = random.nextBoolean() ? algorithm.capacity() : random.nextLong(algorithm.capacity() + 1);
        long left = permits - Math.min(permits, algorithm.chargeable(state, now, maxDebt));
        state = algorithm.charge(state, now, permits, maxDebt);
        if (packed != null) {
            same("packed chargeable", packed.chargeable(packedState, now, maxDebt) < permits ? 1 : 0, left > 0 ? 1 : 0);
            packedState = packed.charge(packedState, now, permits, maxDebt);
        }
        same("uncharged", left, model.overdraw(now, permits, maxDebt));
        if (permits > left) {
            debits.add(new Grant(now, permits - left));
            debitedSinceRefund = refunds > 0;
        }
        compare();
    }

    private void deny(long wait, long permits) {
        tally.denials++;
        if (wait != Algorithm.UNKNOWN) {
            same("wait when it has passed", algorithm.waitTicks(state, now + wait, permits), 0);
            same("wait one tick before", algorithm.waitTicks(state, now + wait - 1, permits), 1);
            long earlier = now - 1 - random.nextLong(2 * scenario.recoverTicks());
            long longer = wait + (now - earlier);
            same("wait asked earlier", algorithm.waitTicks(state, earlier, permits), longer);
            if (packed != null) {
                same("packed wait asked earlier", packed.waitTicks(packedState, earlier, permits), longer);
            }
            promised = now + wait;
            promisedPermits = permits;
        }
    }

    private void refund() {
        tally.refunds++;
        promised = NONE;
        int youngFirst = grants.size() - 1 - random.nextInt(Math.min(grants.size(), 4));
        Grant grant = grants.remove(youngFirst);
        int index = debits.indexOf(grant);
        debits.remove(index);
        S before = state;
        state = algorithm.refund(state, now, grant.at(), grant.permits());
        packedState = packed == null ? null : packed.refund(packedState, now, grant.at(), grant.permits());
        model.refund(now, grant.at(), grant.permits());
        compare();
        if (debitsMoveTheGrid() && state.equals(before)) {
            debits.add(index, grant);
            return;
        }
        refunds++;
        if (!debitsMoveTheGrid() || !debitedSinceRefund) {
            long recover = scenario.recoverTicks();
            long reset = algorithm.resetTicks(state, now);
            long at = Math.max(grant.at(), now - recover);
            notAboveWithoutTheDebits(
                    now,
                    now + 1,
                    now + scenario.stepTicks(),
                    Math.max(now, at + recover),
                    now + random.nextLong(2 * recover + 1),
                    now + recover,
                    reset == Algorithm.UNKNOWN ? now : now + Math.max(0, reset - 1),
                    reset == Algorithm.UNKNOWN ? now : now + reset);
        }
    }

    /**
     * Where debits decide when the next refill comes, a key with a debit more may be better off by its earlier grid, with
     * or without a refund. So a refund that came too late to give anything back leaves its debit in the comparison, and
     * the others are compared as long as nothing was debited after the first of them. The same for a warm-up, which
     * what is not given back keeps warm.
     */
    private boolean debitsMoveTheGrid() {
        return scenario.policy() instanceof WarmUp
                || scenario.policy() instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.STEPWISE
                || scenario.policy() instanceof FixedWindow window
                        && window.alignment() instanceof FixedWindow.Alignment.FirstRequest;
    }

    private void notAboveWithoutTheDebits(long... times) {
        ReferenceModel without = scenario.model().get();
        debits.forEach(debit -> without.debit(debit.at(), debit.permits()));
        LongStream.of(times).sorted().forEach(time -> {
            long remaining = algorithm.remaining(state, time);
            long most = without.remaining(time);
            if (remaining > Math.max(0, most)) {
                throw new AssertionError("refund at " + now + " lifted remaining at " + time + " to " + remaining
                        + ", without the debit it would be " + most);
            }
        });
    }

    private void compare() {
        long remaining = algorithm.remaining(state, now);
        long reset = algorithm.resetTicks(state, now);
        same("remaining", remaining, Math.max(0, model.remaining(now)));
        same("reset", reset, model.reset(now));
        same("wait for what remains", remaining == 0 ? 0 : algorithm.waitTicks(state, now, remaining), 0);
        if (!(scenario.policy() instanceof CompositePolicy)) {
            same("whether all remains", remaining == algorithm.capacity() ? 1 : 0, reset == 0 || isQueueFree() ? 1 : 0);
        }
        if (packed != null) {
            same("packed remaining", packed.remaining(packedState, now), remaining);
            same("packed reset", packed.resetTicks(packedState, now), reset);
        }
        same("rebase of a clock that went on", BackwardClock.rebase(algorithm, state, now) == state ? 0 : 1, 0);
    }

    /** A line whose next slot lies within this tick lets anything pass, and is not yet empty. */
    private boolean isQueueFree() {
        return !scenario.policy().settles() && !scenario.policy().needsRelease() && model.allows(now, 1);
    }

    private void same(String what, long actual, long expected) {
        if (actual != expected) {
            throw new AssertionError(what + " at " + now + " was " + actual + ", the model says " + expected);
        }
    }
}

package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.Saturated;
import io.github.reactorratelimit.algorithm.CounterAlgorithm.Counts;
import io.github.reactorratelimit.algorithm.StepwiseAlgorithm.Steps;
import io.github.reactorratelimit.algorithm.WarmUpAlgorithm.Pace;
import io.github.reactorratelimit.algorithm.WindowGrid.Window;

/**
 * How the Lua twins treat a state before each step, because the clock of a Redis server may go backward: a state that
 * lies further ahead of now than the policy can have caused is brought back to where it locks out no longer than the
 * policy takes to recover, windows twice that. A process has a clock that does not go back and needs none of this.
 */
public final class BackwardClock {

    private BackwardClock() {}

    /** The state as such a clock finds it; {@code state} itself if there is nothing to do. */
    @SuppressWarnings("unchecked")
    public static <S> S rebase(Algorithm<S> algorithm, S state, long now) {
        return (S) rebased(algorithm, state, now);
    }

    private static Object rebased(Algorithm<?> algorithm, Object state, long now) {
        if (algorithm instanceof DeficitAlgorithm deficit) {
            return rebased(deficit.arithmetic(), (Deficit) state, now);
        } else if (algorithm instanceof StepwiseAlgorithm stepwise) {
            Steps steps = (Steps) state;
            boolean isAhead = Ticks.until(steps.since(), now) > stepwise.periodTicks();
            return isAhead ? new Steps(now, now, steps.used(), steps.used()) : state;
        } else if (algorithm instanceof WarmUpAlgorithm) {
            Pace pace = (Pace) state;
            return pace.at() > now ? new Pace(now, pace.owedParts(), pace.warmTicks()) : state;
        } else if (algorithm instanceof WindowAlgorithm windows) {
            return rebased(windows.grid(), (Window) state, now);
        } else if (algorithm instanceof CounterAlgorithm counter) {
            return rebased(counter, (Counts) state, now);
        } else if (algorithm instanceof LogAlgorithm log) {
            return rebased(log, (PermitLog) state, now);
        }
        return algorithm instanceof CompositeAlgorithm composite ? rebased(composite, (Object[]) state, now) : state;
    }

    /** A debt stays, as of now if the clock has gone back. */
    private static Deficit rebased(RateArithmetic arithmetic, Deficit state, long now) {
        if (state.parts() > arithmetic.mostParts) {
            return now < state.at() ? new Deficit(now, state.parts()) : state;
        }
        boolean isAhead = arithmetic.deficitParts(state.at(), state.parts(), now) > arithmetic.mostParts;
        return isAhead ? new Deficit(now, arithmetic.mostParts) : state;
    }

    /** The permits of a window that starts after the next one count in this one. */
    private static Window rebased(WindowGrid grid, Window state, long now) {
        if (state.start() <= now) {
            return state;
        }
        Window current = grid.at(now);
        return state.start() <= current.end()
                ? state
                : new Window(current.start(), current.end(), state.used(), state.used());
    }

    /**
     * How much of the previous window had slid out cannot be told any more: all permits count in this window, no more than
     * the limit unless more were overdrawn.
     */
    private static Counts rebased(CounterAlgorithm counter, Counts state, long now) {
        Window current = counter.grid().at(now);
        long all = Math.min(counter.capacity(), state.previous() + state.current());
        return state.start() > Saturated.plus(current.start(), counter.grid().windowTicks)
                ? new Counts(current.start(), 0, Math.max(state.current(), all))
                : state;
    }

    /** Permits that were logged more than a window ahead count from now. */
    private static PermitLog rebased(LogAlgorithm log, PermitLog state, long now) {
        if (state.isEmpty() || Ticks.until(state.last(), now) <= log.windowTicks()) {
            return state;
        }
        int permits = state.after(Ticks.minus(state.last(), log.windowTicks()));
        return PermitLog.EMPTY.plus(now, permits, Long.MIN_VALUE);
    }

    private static Object[] rebased(CompositeAlgorithm composite, Object[] states, long now) {
        Object[] next = new Object[states.length];
        boolean isChanged = false;
        for (int i = 0; i < states.length; i++) {
            next[i] = rebased(composite.parts[i], states[i], now);
            isChanged |= next[i] != states[i];
        }
        return isChanged ? next : states;
    }
}

package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * What became of one phase of a run, by the answers of the server. An answer belongs to the second in which it was due.
 *
 * @param converged the first second in whose {@value #STRETCH} seconds enough was served and little overrun
 * @param goodput from then on, of what was possible
 * @param overloads from then on, of all answers
 * @param overall goodput of the whole phase
 */
record ServerCourse(long capacity, int converged, double goodput, double overloads, double overall) {

    static final int STRETCH = 10;
    private static final double ENOUGH = 0.85;
    private static final double FEW = 0.02;
    private static final long SECOND_NANOS = Duration.ofSeconds(1).toNanos();

    static ServerCourse of(long capacity, List<Arrival> arrivals, long begunNanos, int seconds) {
        long[] served = new long[seconds];
        long[] overrun = new long[seconds];
        for (Arrival arrival : arrivals) {
            long second = Math.floorDiv(arrival.nanos() + arrival.delayNanos() - begunNanos, SECOND_NANOS);
            if (second >= 0 && second < seconds) {
                (arrival.status() == 200 ? served : overrun)[(int) second]++;
            }
        }
        int from = 0;
        while (from + STRETCH <= seconds && !isFine(capacity, served, overrun, from)) {
            from++;
        }
        long good = sum(served, from, seconds);
        long bad = sum(overrun, from, seconds);
        return new ServerCourse(
                capacity,
                from,
                (double) good / (capacity * (seconds - from)),
                (double) bad / Math.max(1, good + bad),
                (double) sum(served, 0, seconds) / (capacity * seconds));
    }

    private static boolean isFine(long capacity, long[] served, long[] overrun, int from) {
        long good = sum(served, from, from + STRETCH);
        long bad = sum(overrun, from, from + STRETCH);
        return good >= ENOUGH * capacity * STRETCH && bad < FEW * (good + bad);
    }

    private static long sum(long[] counts, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += counts[i];
        }
        return sum;
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "%d per second: converged after %d s, then goodput %.0f %%, overload %.1f %%; goodput of the phase %.0f %%",
                capacity,
                converged,
                100 * goodput,
                100 * overloads,
                100 * overall);
    }
}

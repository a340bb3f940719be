package io.github.reactorratelimit.redis.harness;

import java.time.Duration;

/** How many permits a policy gives for long to those who take all they can get. */
@FunctionalInterface
interface Quota {

    /** The share of the quota that was used between two times. */
    double used(long[] stamps, long fromMicros, long toMicros);

    /** A burst at the first permit, and from then on so many per period, one after the other. */
    static Quota burstAndRate(long burst, long permits, Duration period) {
        return (stamps, from, to) ->
                count(stamps, 0, to) / (burst + permits * (to - stamps[0]) / (double) (period.toNanos() / 1_000));
    }

    /** A burst at the first permit, and so many at the end of each period after it, but for the last, which may be just now. */
    static Quota burstAndSteps(long burst, long permits, Duration period) {
        return (stamps, from, to) ->
                count(stamps, 0, to) / (double) (burst + permits * ((to - stamps[0]) / (period.toNanos() / 1_000) - 1));
    }

    /** So many in each window that begins at a multiple of its length. */
    static Quota wholeWindows(long limit, Duration window) {
        long micros = window.toNanos() / 1_000;
        return (stamps, from, to) -> {
            long first = Math.floorDiv(from, micros) + 1;
            long end = Math.floorDiv(to, micros);
            return count(stamps, first * micros, end * micros) / (double) (limit * (end - first));
        };
    }

    /** So many in each window, where the first one begins with the first permit; one that lacks a twentieth counts. */
    static Quota windowsFromAnywhere(long limit, Duration window) {
        long micros = window.toNanos() / 1_000;
        return (stamps, from, to) ->
                count(stamps, 0, Long.MAX_VALUE) / (double) (limit * Math.floorDiv(to - from + micros / 20, micros));
    }

    private static long count(long[] stamps, long from, long to) {
        long count = 0;
        for (long stamp : stamps) {
            if (stamp >= from && stamp < to) {
                count++;
            }
        }
        return count;
    }
}

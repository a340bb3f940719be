package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * What the processes of a run printed, and what came at the server.
 *
 * <p>The time of a <em>grant</em> is its slot: when, by the clock of Redis, the limiter decided that the call may leave. That time is the same
 * for whoever looks, and the bound of the policy holds for it exactly. A call leaves at its slot or later, by the lateness of
 * timers, threads and the network, so arrivals can lie closer together than slots. How much closer is measured: if {@code
 * lag} is the time of an arrival less that of its slot, and {@code J} the largest lag less the smallest, then what arrives in a
 * window {@code W} was granted in a window {@code W + J}. The clocks of slots and arrivals may differ by any constant: it is in every lag
 * and not in their difference.
 */
final class Run {

    /**
     * A call as its process saw it.
     *
     * @param slotMicros when it was granted, by the clock of Redis; 0 if nobody was asked
     * @param status 0 if there was no answer
     */
    record Made(String name, long slotMicros, long beganNanos, long grantedNanos, long endedNanos, int status) {

        String process() {
            return name.substring(0, name.indexOf('-'));
        }
    }

    /**
     * A pause.
     *
     * @param readNanos when the answer was read that asked for it
     * @param beforeMicros a time of Redis before it began
     * @param afterMicros a time of Redis after it began
     * @param begunNanos it had begun by then
     */
    record Pause(long readNanos, long beforeMicros, long afterMicros, long begunNanos) {}

    /**
     * A caller was told that its turn would come too late.
     *
     * @param nanos when it was told
     * @param askedMicros a time of Redis before it asked
     * @param toldMicros a time of Redis after it was told
     */
    record Told(String process, long nanos, long askedMicros, long toldMicros) {}

    /** Of a slot, which is told in whole microseconds, so much is not told. */
    static final long MICRO = 1_000;

    final List<Made> calls = new ArrayList<>();
    final List<Pause> pauses = new ArrayList<>();
    final List<Told> told = new ArrayList<>();
    final List<Arrival> arrivals;
    private long hung;

    Run(List<List<String>> outputs, List<Arrival> arrivals) {
        this.arrivals = arrivals;
        outputs.forEach(lines -> lines.forEach(line -> read(line.split(" ", -1))));
    }

    private void read(String[] words) {
        switch (words[0]) {
            case "call" ->
                calls.add(
                        new Made(words[1], at(words, 2), at(words, 3), at(words, 4), at(words, 5), (int) at(words, 6)));
            case "pause" -> pauses.add(new Pause(at(words, 1), at(words, 2), at(words, 3), at(words, 4)));
            case "told" -> told.add(new Told(words[1], at(words, 2), at(words, 3), at(words, 4)));
            case "hung" -> hung += at(words, 1);
            default -> throw new IllegalArgumentException("what is '" + String.join(" ", words) + "'?");
        }
    }

    private static long at(String[] words, int index) {
        return Long.parseLong(words[index]);
    }

    long hung() {
        return hung;
    }

    long failures() {
        return calls.stream().filter(call -> call.status() != 200).count();
    }

    /** The times of all grants, by the clock of Redis, sorted. */
    long[] slots() {
        return calls.stream().mapToLong(Made::slotMicros).sorted().toArray();
    }

    private Map<String, Long> slotsByCall() {
        Map<String, Long> slots = new LinkedHashMap<>();
        calls.forEach(call -> slots.put(call.name(), call.slotMicros()));
        return slots;
    }

    private LongStream lags() {
        Map<String, Long> slots = slotsByCall();
        return arrivals.stream().mapToLong(arrival -> arrival.nanos() - slots.get(arrival.call()) * MICRO);
    }

    /**
     * Calls that came to the server before they were granted. The pause tells how the clocks of both differ: when the server's clock
     * was at {@code readNanos}, that of Redis was at {@code beforeMicros} at most.
     */
    List<Arrival> arrivedBeforeTheirSlots(Pause pause) {
        Map<String, Long> slots = slotsByCall();
        return arrivals.stream()
                .filter(arrival -> arrival.nanos() - pause.readNanos()
                        < (slots.get(arrival.call()) - pause.beforeMicros()) * MICRO)
                .toList();
    }

    /** {@code J}: how much longer the slowest call took from its slot to the server than the quickest. */
    long jitterNanos() {
        return lags().max().orElse(0) - lags().min().orElse(0);
    }

    /** The time from the grant, as the client saw it, to the arrival: what is not the limiter's. */
    long largestWayNanos() {
        Map<String, Long> granted = new LinkedHashMap<>();
        calls.forEach(call -> granted.put(call.name(), call.grantedNanos()));
        return arrivals.stream()
                .mapToLong(arrival -> arrival.nanos() - granted.get(arrival.call()))
                .max()
                .orElse(0);
    }

    /** The share of the slots between the first and the last one that somebody left at. */
    double utilisation(LeakyBucket policy) {
        long[] slots = slots();
        double intervalMicros = policy.period().toNanos() / (double) MICRO / policy.permits();
        return (slots.length - 1) * intervalMicros / (slots[slots.length - 1] - slots[0]);
    }

    /** The most calls that came within a second. */
    long busiestSecond() {
        long[] nanos = arrivals.stream().mapToLong(Arrival::nanos).toArray();
        int most = 0;
        for (int first = 0, i = 0; i < nanos.length; i++) {
            while (nanos[i] - nanos[first] >= 1_000_000_000L) {
                first++;
            }
            most = Math.max(most, i - first + 1);
        }
        return most;
    }

    /** Of those that were answered well, so many per second. */
    double goodPerSecond() {
        long good = arrivals.stream().filter(arrival -> arrival.status() == 200).count();
        long nanos = arrivals.get(arrivals.size() - 1).nanos() - arrivals.get(0).nanos();
        return good * 1e9 / nanos;
    }

    /**
     * The first arrival that comes too soon after an earlier one, or -1: {@code n} calls after it need {@code n} intervals, of which {@code
     * slackNanos} may be missing. Slots are whole microseconds, rounded down: one more may be missing.
     */
    static int firstTooSoon(LeakyBucket policy, long[] nanos, long slackNanos) {
        long periodNanos = policy.period().toNanos();
        long most = Long.MIN_VALUE;
        for (int i = 0; i < nanos.length; i++) {
            long ahead = i * periodNanos - policy.permits() * (nanos[i] - nanos[0]);
            if (i > 0 && ahead + most > policy.permits() * (slackNanos + MICRO)) {
                return i;
            }
            most = Math.max(most, -ahead);
        }
        return -1;
    }

    int firstTooSoon(LeakyBucket policy, long slackNanos) {
        return firstTooSoon(policy, arrivals.stream().mapToLong(Arrival::nanos).toArray(), slackNanos);
    }

    /** The time of a call from its wish to its answer that so large a share took less than, in milliseconds. */
    double latencyMillis(double share) {
        long[] nanos = calls.stream()
                .mapToLong(call -> call.endedNanos() - call.beganNanos())
                .sorted()
                .toArray();
        return nanos[(int) Math.min(nanos.length - 1, share * nanos.length)] / 1e6;
    }

    static String millis(long nanos) {
        return String.format("%.1f ms", nanos / 1e6);
    }

    @Override
    public String toString() {
        return calls.size() + " calls, " + arrivals.size() + " arrivals, " + Arrays.toString(pauses.toArray());
    }
}

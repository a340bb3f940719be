package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.LeakyBucket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** What the processes at a leaky bucket printed: which slots were used, and who waited when. */
final class LeakyWaits {

    /**
     * A wait by the server's clock.
     *
     * @param slot 0 if it was left before its turn
     */
    private record Wait(long began, long ended, long slot) {}

    /**
     * Slots that could have been used; a slot that came late counts by the part of an interval that was lost.
     *
     * @param used granted
     * @param wasted nobody left at it although somebody waited
     * @param stranded of a process whose last waiters had left, with fewer arrivals since, anywhere, than they had slots
     * @param idle nobody waited
     */
    record Slots(long used, double wasted, double stranded, double idle) {}

    /** Those who leave at once do so within this time. */
    private static final long TOGETHER_MICROS = 20_000;

    private final List<List<Wait>> processes = new ArrayList<>();
    private long untilMicros = Long.MAX_VALUE;
    private long hung;

    static LeakyWaits of(List<List<String>> outputs) {
        LeakyWaits all = new LeakyWaits();
        for (List<String> lines : outputs) {
            List<Wait> waits = new ArrayList<>();
            for (String line : lines) {
                String[] words = line.split(" ", -1);
                switch (words[0]) {
                    case "wait" ->
                        waits.add(
                                new Wait(Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3])));
                    case "stop" -> all.untilMicros = Math.min(all.untilMicros, Long.parseLong(words[1]));
                    default -> all.hung += Long.parseLong(words[1]);
                }
            }
            all.processes.add(waits);
        }
        return all;
    }

    long hung() {
        return hung;
    }

    long left() {
        return all().filter(wait -> wait.slot == 0).count();
    }

    /** The slots that were granted, over all processes, sorted. */
    long[] slots() {
        return all().mapToLong(Wait::slot).filter(slot -> slot > 0).sorted().toArray();
    }

    private Stream<Wait> all() {
        return processes.stream().flatMap(List::stream);
    }

    /**
     * Looks at the time between a granted slot's end and the next one.
     *
     * @param reachMicros how long before a slot a wait must have begun to be able to get it
     */
    Slots count(LeakyBucket policy, long reachMicros) {
        double interval = policy.period().toNanos() / 1_000.0 / policy.permits();
        long[] slots =
                Arrays.stream(slots()).filter(slot -> slot <= untilMicros).toArray();
        TreeMap<Long, Long> waiting = timesWithWaiters(reachMicros);
        double wasted = 0;
        double stranded = 0;
        double idle = 0;
        for (int i = 1; i < slots.length; i++) {
            long from = slots[i - 1] + (long) Math.ceil(interval);
            if (from >= slots[i]) {
                continue;
            }
            double waited = overlap(waiting, from, slots[i]) / interval;
            idle += (slots[i] - from) / interval - waited;
            if (waited > 0 && strandedAt(from)) {
                stranded += waited;
            } else {
                wasted += waited;
            }
        }
        return new Slots(slots.length, wasted, stranded, idle);
    }

    /** Beginnings and ends of the times at which somebody waited who could have been reached, apart from one another. */
    private TreeMap<Long, Long> timesWithWaiters(long reachMicros) {
        TreeMap<Long, Long> times = new TreeMap<>();
        all().filter(wait -> wait.began + reachMicros < wait.ended)
                .sorted(Comparator.comparingLong(Wait::began))
                .forEach(wait -> {
                    Map.Entry<Long, Long> last = times.lastEntry();
                    if (last != null && last.getValue() >= wait.began + reachMicros) {
                        times.put(last.getKey(), Math.max(last.getValue(), wait.ended));
                    } else {
                        times.put(wait.began + reachMicros, wait.ended);
                    }
                });
        return times;
    }

    private static long overlap(TreeMap<Long, Long> times, long from, long to) {
        long sum = 0;
        Long first = times.floorKey(from);
        for (Map.Entry<Long, Long> time :
                times.subMap(first == null ? from : first, true, to, false).entrySet()) {
            sum += Math.max(0, Math.min(to, time.getValue()) - Math.max(from, time.getKey()));
        }
        return sum;
    }

    /** Whether some process has nobody who waits, and slots of those who left that no arrival, anywhere, has taken since. */
    private boolean strandedAt(long time) {
        return processes.stream().anyMatch(waits -> {
            if (waits.stream().anyMatch(wait -> wait.began <= time && time < wait.ended)) {
                return false;
            }
            long lastEnd = waits.stream()
                    .filter(wait -> wait.ended <= time)
                    .mapToLong(Wait::ended)
                    .max()
                    .orElse(time);
            long freed = waits.stream()
                    .filter(wait -> wait.slot == 0 && wait.ended <= lastEnd && wait.ended > lastEnd - TOGETHER_MICROS)
                    .count();
            long arrived = all().filter(wait -> wait.began > lastEnd && wait.began < time)
                    .count();
            return arrived < freed;
        });
    }
}

package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.TokenBucket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.SoftAssertions;

/** Runs faults under load, tells how it goes line by line, and what came of it in a table. */
final class FaultHarness {

    private static final long MOST_HEAP_GROWTH_BYTES = 32L << 20;

    /**
     * What came of a fault.
     *
     * @param asked asks of all limiters
     * @param granted permits of the bucket that Redis granted
     * @param bound the most that may be granted in that time
     * @param over permits above the bound that the policy has without any fault
     * @param unexplained debits in Redis less those whose callers were told; negative if a failover lost some
     * @param doubles debits that no ask accounts for
     * @param hung asks without an answer
     * @param degraded decisions made without Redis
     * @param counted decisions counted as made without Redis
     * @param heapGrowthBytes what the load left behind
     * @param normalMillis from the end of the fault to the last decision without Redis
     * @param errors signalled to subscribers
     */
    private record Outcome(
            Fault fault,
            long asked,
            long granted,
            double bound,
            long over,
            long unexplained,
            long doubles,
            long hung,
            long degraded,
            long counted,
            long heapGrowthBytes,
            long normalMillis,
            Map<String, Long> errors) {}

    private final long startNanos = System.nanoTime();
    private final List<Outcome> outcomes = new ArrayList<>();

    void run(List<Fault> faults) throws Exception {
        for (Fault fault : faults) {
            say(fault.name() + ": servers start");
            try (FaultSite site = fault.site().get()) {
                outcomes.add(run(fault, site));
            }
        }
    }

    private Outcome run(Fault fault, FaultSite site) throws Exception {
        FaultLoad load = new FaultLoad(site.run(), site.connected().store().withDeadline(fault.deadline()));
        load.start();
        long heapBefore = usedHeap();
        say(fault.name() + ": strikes");
        fault.strike().on(site, load, step -> say(fault.name() + ": " + step));
        long overNanos = System.nanoTime();
        say(fault.name() + ": over");
        load.awaitNormal();
        long hung = load.stop();
        long normalMillis = Math.max(0, load.lastDegradedNanos() - overNanos) / 1_000_000;
        long spent = load.spent();
        long unexplained = spent - load.ledger().allowed();
        long[] stamps = load.bucket().stamps();
        Outcome outcome = new Outcome(
                fault,
                load.asked(),
                stamps.length,
                bound(fault, stamps),
                over(stamps),
                unexplained,
                Math.max(0, unexplained - (fault.exact() ? 0 : load.ledger().degraded())),
                hung,
                load.degraded(),
                load.countedAsDegraded(),
                usedHeap() - heapBefore,
                normalMillis,
                load.errors());
        load.close();
        return outcome;
    }

    /** For a failover what the documentation states, else the window that comes closest to the policy's own bound. */
    private static double bound(Fault fault, long[] stamps) {
        TokenBucket bucket = FaultLoad.BUCKET;
        if (fault.failovers() == 0) {
            return stamps.length / Sweep.used(bucket, stamps);
        }
        double seconds = (stamps[stamps.length - 1] - stamps[0]) / 1e6;
        return (fault.failovers() + 1) * bucket.capacity() + bucket.refill() * seconds;
    }

    private static long over(long[] stamps) {
        double used = Sweep.used(FaultLoad.BUCKET, stamps);
        return Math.round(Math.max(0, used - 1) * FaultLoad.BUCKET.capacity());
    }

    private static long usedHeap() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private void say(String what) {
        System.out.printf("[%5.1f s] %s%n", (System.nanoTime() - startNanos) / 1e9, what);
    }

    void printTable() {
        System.out.printf(
                "%n%-18s %9s %8s %8s %6s %5s %7s %6s %5s %9s %9s %7s %9s %s%n",
                "fault",
                "failovers",
                "asked",
                "granted",
                "bound",
                "over",
                "no-ans",
                "double",
                "hung",
                "degraded",
                "counted",
                "heap kB",
                "normal ms",
                "errors");
        for (Outcome outcome : outcomes) {
            System.out.printf(
                    "%-18s %9d %8d %8d %5.0f%% %5d %7d %6d %5d %9d %9d %7d %9d %s%n",
                    outcome.fault.name(),
                    outcome.fault.failovers(),
                    outcome.asked,
                    outcome.granted,
                    100 * outcome.granted / outcome.bound,
                    outcome.over,
                    outcome.unexplained,
                    outcome.doubles,
                    outcome.hung,
                    outcome.degraded,
                    outcome.counted,
                    outcome.heapGrowthBytes / 1_024,
                    outcome.normalMillis,
                    outcome.errors.isEmpty() ? "none" : outcome.errors);
        }
        System.out.println(
                "bound: share used of the bucket's own bound, with failovers of (failovers + 1) * burst + rate * T;"
                        + " over: permits above the bucket's own bound. no-ans: debits in Redis whose callers got no answer from"
                        + " it, less those that failovers lost; double: debits beyond those.");
    }

    void check(SoftAssertions failures) {
        for (Outcome outcome : outcomes) {
            String name = outcome.fault.name();
            failures.assertThat((double) outcome.granted).as(name + ": granted").isLessThanOrEqualTo(outcome.bound);
            failures.assertThat(outcome.doubles).as(name + ": double debits").isZero();
            if (outcome.fault.failovers() == 0) {
                failures.assertThat(outcome.unexplained)
                        .as(name + ": debits lost")
                        .isNotNegative();
            }
            failures.assertThat(outcome.hung).as(name + ": hung").isZero();
            failures.assertThat(outcome.counted)
                    .as(name + ": counted as degraded")
                    .isEqualTo(outcome.degraded);
            failures.assertThat(outcome.heapGrowthBytes).as(name + ": heap").isLessThan(MOST_HEAP_GROWTH_BYTES);
            failures.assertThat(outcome.errors).as(name + ": errors").isEmpty();
        }
    }
}

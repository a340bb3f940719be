package io.github.reactorratelimit.redis.harness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.reactorratelimit.testing.ChildJvm;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.github.reactorratelimit.testing.redis.Topology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Processes that hammer shared keys: all that they are granted together, by the time of the script, stays within the
 * policy exactly, and they get what it gives. The time of a leased permit is that of the debit of its batch: that the
 * policy allows those spent at their debits' times means that nothing was spent that was not debited. What leases strand
 * is not asked back, so for them the share that was used is only printed; so it is in a run of seconds, where a busy
 * machine shows.
 */
@Tag("slow")
@ExtendWith(RedisExtension.class)
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class HammerTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final List<HammerRow> ALL = List.of(HammerRow.values());

    @Test
    void processesTogetherGetTheQuotaAndNotOnePermitMore(Standalone redis) {
        hammer(redis);
    }

    @Test
    void processesTogetherGetTheQuotaOfAClusterAndNotOnePermitMore() {
        assumeTrue(FULL, "takes minutes: run with -Pfull");
        try (Cluster cluster = Cluster.start()) {
            hammer(cluster);
        }
    }

    private static void hammer(Topology redis) {
        SoftAssertions failures = new SoftAssertions();
        System.out.printf(
                "%n%-10s %-21s %4s %9s %9s %11s %11s%n",
                "hammer", "policy", "keys", "asks", "grants", "bound used", "sustained");
        int together = FULL ? 4 : 6;
        for (int i = 0; i < ALL.size(); i += together) {
            run(redis, ALL.subList(i, Math.min(i + together, ALL.size())), failures);
        }
        failures.assertAll();
    }

    private static void run(Topology redis, List<HammerRow> rows, SoftAssertions failures) {
        HammerPlan plan = new HammerPlan(
                redis instanceof Cluster,
                redis.dataServers(),
                "hammer-" + UUID.randomUUID(),
                FULL ? 4 : 2,
                Duration.ofSeconds(FULL ? 60 : 3),
                FULL ? 6 : 2,
                FULL ? 6 : 4,
                Duration.ofMillis(15),
                rows);
        HammerResult result = HammerResult.of(ChildJvm.runAll(
                plan.processes(),
                HammerChild.class,
                plan.arguments(),
                plan.duration().plusSeconds(90)));
        failures.assertThat(result.total("degraded")).as("degraded").isZero();
        failures.assertThat(result.total("hung")).as("hung").isZero();
        assertThat(result.toMicros() - result.fromMicros())
                .as("time in which all processes asked")
                .isGreaterThan(plan.duration().toMillis() * 900);
        for (HammerRow row : rows) {
            check(row, plan, result, failures);
        }
    }

    private static void check(HammerRow row, HammerPlan plan, HammerResult result, SoftAssertions failures) {
        long grants = 0;
        double bound = 0;
        List<Double> sustained = new ArrayList<>();
        for (int key = 0; key < plan.keys(); key++) {
            long[] stamps = result.stamps(row, "k" + key);
            String what = row + " k" + key;
            grants += stamps.length;
            double used = Sweep.used(row.policy(), stamps);
            bound = Math.max(bound, used);
            failures.assertThat(used).as("share of the bound used, " + what).isLessThanOrEqualTo(1);
            failures.assertThat(Conformance.firstOverAdmission(row.policy(), stamps))
                    .as("permit too many, " + what)
                    .isEmpty();
            sustained.add(row.quota().used(stamps, result.fromMicros(), result.toMicros()));
            if (FULL && !row.isLeased()) {
                failures.assertThat(sustained.get(key)).as("sustained, " + what).isGreaterThanOrEqualTo(0.99);
            }
        }
        System.out.printf(
                "%-10s %-21s %4d %9d %9d %10.1f%% %10.2f%%%n",
                plan.cluster() ? "cluster" : "standalone",
                row.name().toLowerCase(Locale.ROOT).replace('_', ' '),
                plan.keys(),
                result.total(row.name()),
                grants,
                100 * bound,
                100 * sustained.stream().mapToDouble(share -> share).min().orElse(0));
    }

    @Test
    void checksSeeOnePermitTooMany() {
        for (HammerRow row : ALL) {
            long[] atOnce = new long[(int) row.policy().capacity() * 2 + 1];
            Arrays.fill(atOnce, 1_700_000_000_000_000L);
            assertThat(Conformance.firstOverAdmission(row.policy(), atOnce))
                    .as(row.name())
                    .isPresent();
            assertThat(Sweep.used(row.policy(), atOnce)).as(row.name()).isGreaterThan(1);
        }
    }
}

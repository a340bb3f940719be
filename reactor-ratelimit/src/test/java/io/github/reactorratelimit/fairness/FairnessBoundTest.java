package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.RepeatedTest;
import reactor.core.Disposable;

/** Random tenants, weights, costs and cancels against what is promised on paper. */
class FairnessBoundTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 200 : 4;
    private static final String CLASS = FairShareBuilder.DEFAULT_CLASS;

    /** What the paper knows of a tenant. */
    private static final class Tenant {
        final String name;
        final long weight;
        final List<Waiting> waiting = new ArrayList<>();
        long largest;
        long served;

        Tenant(String name, long weight) {
            this.name = name;
            this.weight = weight;
        }
    }

    private record Waiting(int call, long permits, Disposable pending) {}

    /** How far apart two have been since both wait: weighed service of the one less that of the other, at least and at most. */
    private static final class Gap {
        long now;
        long least;
        long most;

        void moveBy(long difference) {
            now += difference;
            least = Math.min(least, now);
            most = Math.max(most, now);
        }
    }

    /**
     * In any stretch of time in which two tenants both wait, what each was served by its weight differs by at most the largest
     * call of the one by its weight plus the largest of the other by its weight. Multiplied out, all of it is whole numbers.
     */
    @RepeatedTest(2)
    void twoWhoBothWaitAreNeverFurtherApartThanOneCallEach() {
        SplittableRandom random = new SplittableRandom(Seeds.of("FairnessBoundTest.apart"));
        for (int round = 0; round < ROUNDS; round++) {
            bothWait(random.split());
        }
    }

    private static void bothWait(SplittableRandom random) {
        long maxCost = random.nextBoolean() ? 1 : 1 + random.nextInt(20);
        World world = new World(
                TokenBucket.of(1, ofMillis(10)).withBurst(maxCost), spec -> spec.weights(FairnessBoundTest::weightIn));
        List<Tenant> tenants = new ArrayList<>();
        int count = 2 + random.nextInt(4);
        for (int i = 0; i < count; i++) {
            long weight = 1 + random.nextInt(random.nextBoolean() ? 4 : 50);
            tenants.add(new Tenant(i + ":" + weight, weight));
        }
        Map<Long, Gap> gaps = new HashMap<>();
        int seen = 0;
        for (int step = 0; step < 400; step++) {
            act(world, tenants, random, maxCost);
            settle(tenants, gaps);
            world.pass(10 * random.nextInt(6));
            for (; seen < world.departures.size(); seen++) {
                serve(world.departures.get(seen), tenants, gaps);
            }
        }
        world.share.close().block();
    }

    private static long weightIn(String tenant) {
        return Long.parseLong(tenant.substring(tenant.indexOf(':') + 1));
    }

    private static void act(World world, List<Tenant> tenants, SplittableRandom random, long maxCost) {
        Tenant tenant = tenants.get(random.nextInt(tenants.size()));
        if (random.nextInt(3) == 0 && !tenant.waiting.isEmpty()) {
            Waiting leaving = tenant.waiting.remove(random.nextInt(tenant.waiting.size()));
            leaving.pending.dispose();
        } else {
            for (int i = random.nextInt(6); i >= 0; i--) {
                long permits = 1 + random.nextLong(maxCost);
                int call = world.calls();
                tenant.largest = Math.max(tenant.largest, permits);
                tenant.waiting.add(new Waiting(call, permits, world.call(tenant.name, CLASS, permits)));
            }
        }
    }

    /** Who does not wait any more is compared with nobody; who was served on arrival never waited. */
    private static void settle(List<Tenant> tenants, Map<Long, Gap> gaps) {
        for (int i = 0; i < tenants.size(); i++) {
            for (int j = i + 1; j < tenants.size(); j++) {
                boolean both = !tenants.get(i).waiting.isEmpty()
                        && !tenants.get(j).waiting.isEmpty();
                if (both) {
                    gaps.computeIfAbsent(pair(i, j), any -> new Gap());
                } else {
                    gaps.remove(pair(i, j));
                }
            }
        }
    }

    private static long pair(int i, int j) {
        return 100L * i + j;
    }

    private static void serve(World.Departure left, List<Tenant> tenants, Map<Long, Gap> gaps) {
        for (int i = 0; i < tenants.size(); i++) {
            Tenant tenant = tenants.get(i);
            if (!tenant.name.equals(left.tenant())) {
                continue;
            }
            assertThat(tenant.waiting)
                    .as("in order of arrival")
                    .first()
                    .extracting(Waiting::call)
                    .isEqualTo(left.call());
            for (int j = 0; j < tenants.size(); j++) {
                Gap gap = gaps.get(pair(Math.min(i, j), Math.max(i, j)));
                if (i != j && gap != null) {
                    Tenant other = tenants.get(j);
                    gap.moveBy((i < j ? 1 : -1) * left.permits() * other.weight);
                    assertThat(gap.most - gap.least)
                            .as("%s against %s", tenant.name, other.name)
                            .isLessThanOrEqualTo(tenant.largest * other.weight + other.largest * tenant.weight);
                }
            }
            tenant.waiting.remove(0);
        }
        settle(tenants, gaps);
    }

    /**
     * Calls of one permit: one that comes as the p-th of its tenant is passed by at most ⌊p·w/own w⌋ + 1 calls of any tenant of weight w,
     * whoever comes and goes, and however many names there are.
     */
    @RepeatedTest(2)
    void everyCallLeavesAfterABoundedNumberOfOthersOfEachTenant() {
        SplittableRandom random = new SplittableRandom(Seeds.of("FairnessBoundTest.bounded"));
        for (int round = 0; round < ROUNDS; round++) {
            flood(random.split());
        }
    }

    private record Expectation(int call, String tenant, long place, int servedBefore) {}

    /** Ever new names overload the limit, and a few calls stand among them. */
    private static void flood(SplittableRandom random) {
        int maxQueued = 50;
        World world = new World(
                new Gcra(1, ofMillis(10), 1),
                spec -> spec.weights(FairnessBoundTest::weightIn).maxQueuedPerClass(maxQueued));
        Map<String, Integer> waiting = new HashMap<>();
        List<Expectation> expected = new ArrayList<>();
        int seen = 0;
        for (int step = 0; step < 600; step++) {
            for (int i = random.nextInt(4); i > 0; i--) {
                boolean known = random.nextInt(4) == 0;
                String tenant = known ? "known:" + 2 : "name" + world.calls() + ":" + (1 + random.nextInt(4));
                if (world.share.queued() < maxQueued) {
                    int place = waiting.merge(tenant, 1, Integer::sum);
                    expected.add(new Expectation(world.calls(), tenant, place, world.departures.size()));
                    world.call(tenant, CLASS, 1);
                }
            }
            world.pass(10);
            for (; seen < world.departures.size(); seen++) {
                waiting.merge(world.departures.get(seen).tenant(), -1, Integer::sum);
            }
        }
        world.pass(10 * 2 * maxQueued);
        assertThat(world.departures).hasSameSizeAs(expected);
        Map<Integer, Integer> position = new HashMap<>();
        for (int i = 0; i < world.departures.size(); i++) {
            position.put(world.departures.get(i).call(), i);
        }
        expected.forEach(call -> check(world, call, position.get(call.call), maxQueued));
        world.assertQuiet();
    }

    private static void check(World world, Expectation call, int left, int maxQueued) {
        long own = weightIn(call.tenant);
        Map<String, Long> passed = new HashMap<>();
        for (int i = call.servedBefore; i < left; i++) {
            passed.merge(world.departures.get(i).tenant(), 1L, Long::sum);
        }
        passed.forEach((tenant, calls) -> assertThat(calls)
                .as("of %s before call %d of %s", tenant, call.call, call.tenant)
                .isLessThanOrEqualTo(call.place * weightIn(tenant) / own + 1));
        long heaviest = 4;
        long steps = (call.place * heaviest + own - 1) / own + 1;
        assertThat(left - call.servedBefore).as("before call %d", call.call).isLessThanOrEqualTo((int)
                (maxQueued * steps));
    }

    /**
     * Calls of one permit in three classes, each overloaded at times: while a lower class waits, at most {@code every - 1} permits in a row go to
     * others, and one more for each other lower class, which may be due at the same time.
     */
    @RepeatedTest(2)
    void lowerClassesAreNeverPassedOverForLong() {
        SplittableRandom random = new SplittableRandom(Seeds.of("FairnessBoundTest.classes"));
        for (int round = 0; round < ROUNDS; round++) {
            overloadClasses(random.split());
        }
    }

    private static void overloadClasses(SplittableRandom random) {
        int every = 4 + random.nextInt(8);
        List<String> classes = List.of("first", "second", "third");
        World world = new World(
                new Gcra(1, ofMillis(10), 1),
                spec -> spec.classes("first", "second", "third").lowerClassesGetOneIn(every));
        Map<String, Integer> waiting = new HashMap<>();
        Map<String, Integer> passedOver = new HashMap<>();
        int seen = 0;
        for (int step = 0; step < 1_000; step++) {
            String arriving = classes.get(random.nextInt(3));
            for (int i = random.nextInt(5); i > 0; i--) {
                waiting.merge(arriving, 1, Integer::sum);
                world.call("t" + random.nextInt(3), arriving, 1);
            }
            world.pass(10);
            for (; seen < world.departures.size(); seen++) {
                String left = world.departures.get(seen).callClass();
                waiting.merge(left, -1, Integer::sum);
                for (String other : classes.subList(1, 3)) {
                    boolean passed = !other.equals(left) && waiting.getOrDefault(other, 0) > 0;
                    int inARow = passed ? passedOver.merge(other, 1, Integer::sum) : 0;
                    passedOver.put(other, inARow);
                    assertThat(inARow).as("%s, one in %d", other, every).isLessThanOrEqualTo(every - 1 + 1);
                }
            }
        }
        assertThat(world.departures).hasSizeGreaterThan(900);
        world.share.close().block();
    }
}

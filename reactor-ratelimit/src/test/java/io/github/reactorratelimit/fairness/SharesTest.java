package io.github.reactorratelimit.fairness;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** What each gets while all want more than there is: counted exactly, in virtual time. */
class SharesTest {

    private static final int INTERVAL_MILLIS = 10;

    /** 100 permits a second, in every shape. */
    static Stream<RateLimitPolicy> policies() {
        return Stream.of(
                new Gcra(1, ofMillis(INTERVAL_MILLIS), 1),
                TokenBucket.perSecond(100).withBurst(1),
                TokenBucket.perSecond(100),
                LeakyBucket.perSecond(100),
                LeakyBucket.perSecond(100).withQueue(1),
                new SlidingWindowLog(100, Duration.ofSeconds(1)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void weightsOfOneAndThreeGetAQuarterAndThreeQuartersUnderOverload(RateLimitPolicy policy) {
        World world = new World(policy, spec -> spec.weight("one", 1).weight("three", 3));
        for (int i = 0; i < 1_000; i++) {
            world.call("one", FairShareBuilder.DEFAULT_CLASS, 1);
            world.call("three", FairShareBuilder.DEFAULT_CLASS, 1);
        }
        world.pass(7_000);

        // The first calls found nobody else: they do not count.
        List<String> under = world.tenants().subList(100, 500);
        assertThat(Collections.frequency(under, "one")).isBetween(99, 101);
        assertThat(Collections.frequency(under, "three")).isBetween(299, 301);
        List<String> all = world.tenants().subList(100, world.departures.size());
        assertThat(100.0 * Collections.frequency(all, "one") / all.size()).isBetween(23.0, 27.0);
        world.share.close().block();
    }

    @Test
    void sharesArePreciseAtEveryMoment() {
        World world = new World(new Gcra(1, ofMillis(INTERVAL_MILLIS), 1), spec -> spec.weight("three", 3));
        for (int i = 0; i < 500; i++) {
            world.call("three", FairShareBuilder.DEFAULT_CLASS, 1);
            world.call("one", FairShareBuilder.DEFAULT_CLASS, 1);
        }
        world.pass(4_000);

        // The very first found nobody waiting.
        for (int grants = 1; grants < world.departures.size(); grants++) {
            int one = Collections.frequency(world.tenants().subList(1, 1 + grants), "one");
            assertThat(4 * one - grants).as("after %d grants", grants).isBetween(-4, 4);
        }
        world.share.close().block();
    }

    @Test
    void permitsCountNotCalls() {
        World world = new World(TokenBucket.perSecond(100).withBurst(10), spec -> spec);
        for (int i = 0; i < 1_000; i++) {
            world.call("small", FairShareBuilder.DEFAULT_CLASS, 1);
            world.call("large", FairShareBuilder.DEFAULT_CLASS, 10);
        }
        world.pass(10_000);

        Map<String, Long> permits = world.permitsByTenant();
        assertThat(permits.get("small")).isBetween(490L, 520L);
        assertThat(permits.get("large")).isBetween(490L, 520L);
        assertThat(permits.get("small") + permits.get("large")).isBetween(1_000L, 1_010L);
        world.share.close().block();
    }

    /** Each holds one element at a time: it is back in line before the next permit comes. */
    @Test
    void streamsThatWaitElementByElementGetTheirWeights() {
        World world = new World(new Gcra(1, ofMillis(INTERVAL_MILLIS), 1), spec -> spec.weight("three", 3));
        AtomicInteger one = new AtomicInteger();
        AtomicInteger three = new AtomicInteger();
        Disposable first = Flux.range(0, 10_000)
                .transform(limitRate(world.share.limiter(FairShareBuilder.DEFAULT_CLASS), spec -> spec.key("one")))
                .subscribe(i -> one.incrementAndGet());
        Disposable second = Flux.range(0, 10_000)
                .transform(limitRate(world.share.limiter(FairShareBuilder.DEFAULT_CLASS), spec -> spec.key("three")))
                .subscribe(i -> three.incrementAndGet());
        world.pass(4_000);

        assertThat(one.get() + three.get()).isEqualTo(401);
        assertThat(one.get()).isBetween(99, 102);
        first.dispose();
        second.dispose();
        world.assertQuiet();
    }

    @Test
    void whoWasAwayHasSavedNothing() {
        World world = new World(new Gcra(1, ofMillis(INTERVAL_MILLIS), 1), spec -> spec);
        for (int i = 0; i < 900; i++) {
            world.call("busy", FairShareBuilder.DEFAULT_CLASS, 1);
        }
        world.pass(5_000);
        world.departures.clear();
        for (int i = 0; i < 200; i++) {
            world.call("back", FairShareBuilder.DEFAULT_CLASS, 1);
        }
        world.pass(1_000);

        assertThat(world.permitsByTenant().get("back")).isBetween(49L, 51L);
        world.share.close().block();
    }

    /** Batch waits all the time, so permits come on a grid; alone, an interactive call may find one at once. */
    @Test
    void batchFloodDelaysInteractiveCallsByAtMostOneInterval() {
        long seed = Seeds.of("SharesTest.flood");
        List<Long> quiet = interactiveDepartures(seed, false);
        List<Long> flooded = interactiveDepartures(seed, true);
        assertThat(flooded).hasSameSizeAs(quiet);
        long longest = 0;
        for (int i = 0; i < quiet.size(); i++) {
            long delay = flooded.get(i) - quiet.get(i);
            assertThat(delay).as("call %d", i).isBetween(0L, (long) INTERVAL_MILLIS);
            longest = Math.max(longest, delay);
        }
        assertThat(longest).as("the flood is felt").isPositive();
    }

    /** Bursts of up to nine calls at any time, and enough of a pause for them to leave. */
    private static List<Long> interactiveDepartures(long seed, boolean flood) {
        SplittableRandom random = new SplittableRandom(seed);
        World world = new World(
                new Gcra(1, ofMillis(INTERVAL_MILLIS), 1),
                spec -> spec.classes("interactive", "batch").maxQueuedPerTenant(10_000));
        if (flood) {
            for (int i = 0; i < 9_000; i++) {
                world.call("nightly", "batch", 1);
            }
        }
        for (int burst = 0; burst < 200; burst++) {
            world.pass(100 + random.nextInt(100));
            int calls = 1 + random.nextInt(9);
            for (int i = 0; i < calls; i++) {
                world.call("user " + random.nextInt(3), "interactive", 1);
            }
        }
        world.pass(1_000);
        List<Long> departures = new ArrayList<>(Collections.nCopies(world.calls(), 0L));
        world.departures.forEach(left -> departures.set(left.call(), left.atMillis()));
        List<Long> interactive = departures.subList(flood ? 9_000 : 0, departures.size());
        world.share.close().block();
        Collections.sort(interactive);
        return List.copyOf(interactive);
    }

    @Test
    void lowerClassGetsOneInTenWhileTheUpperOneIsOverloaded() {
        World world =
                new World(new Gcra(1, ofMillis(INTERVAL_MILLIS), 1), spec -> spec.classes("interactive", "batch"));
        for (int i = 0; i < 1_000; i++) {
            world.call("user", "interactive", 1);
            world.call("nightly", "batch", 1);
        }
        world.pass(9_990);

        assertThat(world.departures).hasSize(1_000);
        assertThat(world.permitsByClass().get("batch")).isBetween(99L, 101L);
        world.share.close().block();
    }

    @Test
    void eachOfSeveralLowerClassesGetsItsPart() {
        World world = new World(
                new Gcra(1, ofMillis(INTERVAL_MILLIS), 1),
                spec -> spec.classes("first", "second", "third").lowerClassesGetOneIn(5));
        for (int i = 0; i < 1_000; i++) {
            world.call("a", "first", 1);
            world.call("a", "second", 1);
            world.call("a", "third", 1);
        }
        world.pass(9_990);

        assertThat(world.permitsByClass().get("second")).isBetween(199L, 201L);
        assertThat(world.permitsByClass().get("third")).isBetween(199L, 201L);
        world.share.close().block();
    }

    @Test
    void lowerClassGetsItsPartInPermits() {
        World world = new World(
                TokenBucket.perSecond(100).withBurst(20),
                spec -> spec.classes("interactive", "batch").lowerClassesGetOneIn(4));
        for (int i = 0; i < 1_000; i++) {
            world.call("user", "interactive", 1);
            world.call("nightly", "batch", 20);
        }
        world.pass(10_000);

        assertThat(world.permitsByClass().get("batch")).isBetween(240L, 280L);
        world.share.close().block();
    }

    /** However busy interactive calls are, the n-th that waits in batch leaves with the 10·n-th permit at the latest. */
    @Test
    void nthCallOfTheLowerClassLeavesWithTheTenTimesNthPermit() {
        World world =
                new World(new Gcra(1, ofMillis(INTERVAL_MILLIS), 1), spec -> spec.classes("interactive", "batch"));
        for (int i = 0; i < 1_000; i++) {
            world.call("user", "interactive", 1);
        }
        world.pass(55);
        int before = world.departures.size();
        for (int i = 0; i < 50; i++) {
            world.call("nightly", "batch", 1);
        }
        world.pass(5_000);

        List<World.Departure> after = world.departures.subList(before, world.departures.size());
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < after.size(); i++) {
            if (after.get(i).callClass().equals("batch")) {
                places.add(i + 1);
            }
        }
        assertThat(places).hasSize(50);
        for (int n = 1; n <= 50; n++) {
            assertThat(places.get(n - 1)).isEqualTo(10 * n);
        }
        world.share.close().block();
    }
}

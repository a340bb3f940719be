package io.github.reactorratelimit.fairness;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

/** A large call that is given up, and small ones that waited behind it. */
class GivenUpTest {

    private static final RateLimitPolicy EVERY_TEN_MILLIS =
            TokenBucket.of(1, ofMillis(10)).withBurst(50);

    private static void calls(World world, String tenant, String callClass, int count) {
        for (int i = 0; i < count; i++) {
            world.call(tenant, callClass, 1);
        }
    }

    private static List<String> departures(World world, int count) {
        int before = world.departures.size();
        world.pass(10L * count);
        return world.tenants().subList(before, world.departures.size());
    }

    @Test
    void classSavesNothingForItAndTheFirstClassWaitsForOneCallOnly() {
        World world = new World(EVERY_TEN_MILLIS, spec -> spec.classes("interactive", "batch"));
        world.call("spent", "interactive", 50);
        Disposable large = world.call("job", "batch", 50);
        calls(world, "job", "batch", 60);
        calls(world, "user", "interactive", 900);
        assertThat(departures(world, 440)).containsOnly("user");

        large.dispose();

        List<String> after = departures(world, 100);
        assertThat(Collections.frequency(after, "job")).isBetween(10, 11);
        assertThat(String.join(" ", after)).doesNotContain("job job");
    }

    @Test
    void tenantThatWaitedAllTheTimeCatchesUpWithTheOthersAndNoFurther() {
        World world = new World(EVERY_TEN_MILLIS, spec -> spec);
        world.call("spent", FairShareBuilder.DEFAULT_CLASS, 50);
        Disposable large = world.call("a", FairShareBuilder.DEFAULT_CLASS, 50);
        calls(world, "a", FairShareBuilder.DEFAULT_CLASS, 100);
        calls(world, "b", FairShareBuilder.DEFAULT_CLASS, 200);
        assertThat(departures(world, 40)).containsOnly("b");

        large.dispose();

        assertThat(departures(world, 38)).containsOnly("a");
        List<String> later = departures(world, 40);
        assertThat(Collections.frequency(later, "a")).isBetween(20, 22);
    }
}

package io.github.reactorratelimit.examples.playground.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Traffic;
import io.github.reactorratelimit.examples.playground.live.Frame.What;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.test.scheduler.VirtualTimeScheduler;

class SimulationTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Frame> frames = new ArrayList<>();

    private Simulation start(Map<String, Object> changes) {
        Map<String, Object> settings = LiveApiTest.settings();
        settings.putAll(changes);
        return new Simulation(Settings.of(settings), time, RandomGenerator.getDefault());
    }

    private long count(int lane, What what) {
        return frames.stream()
                .flatMap(frame -> frame.events().stream())
                .filter(event -> event[0] == lane && event[1] == what.code)
                .count();
    }

    @ParameterizedTest
    @EnumSource(Traffic.Shape.class)
    void everyRequestEndsOnceInEveryLane(Traffic.Shape shape) {
        Simulation simulation =
                start(Map.of("mode", "delay", "traffic", shape.name().toLowerCase(Locale.ROOT)));
        simulation.frames().subscribe(frames::add);
        simulation.click(7);
        time.advanceTimeBy(Duration.ofSeconds(3));
        Map<String, Object> quiet = LiveApiTest.settings();
        quiet.putAll(Map.of("mode", "delay", "traffic", "clicks"));
        simulation.change(Settings.of(quiet));
        time.advanceTimeBy(Duration.ofSeconds(3));

        long arrived = count(Frame.NO_LANE, What.ARRIVED);
        assertThat(arrived).isGreaterThanOrEqualTo(7);
        for (int lane = 0; lane < Kind.values().length; lane++) {
            assertThat(count(lane, What.LEFT) + count(lane, What.DENIED)).isEqualTo(arrived);
            Frame.Totals totals = simulation.totals().get(lane);
            assertThat(totals.left()).isEqualTo(count(lane, What.LEFT));
            assertThat(totals.denied()).isEqualTo(count(lane, What.DENIED));
        }
        simulation.close();
    }

    /** The same seed, in one go and with a head start: the same requests come, and leave at the same times. */
    @Test
    void aHistoryIsWhatItsSecondsWouldHaveBeen() {
        Map<String, Object> settings = LiveApiTest.settings();
        settings.putAll(Map.of("mode", "delay", "traffic", "poisson", "trafficRate", 40));
        long seed = System.nanoTime();
        RandomGeneratorFactory<RandomGenerator> random = RandomGeneratorFactory.of("L64X128MixRandom");
        List<Frame> inOneGo = new ArrayList<>();
        Simulation slow = new Simulation(Settings.of(settings), time, random.create(seed));
        slow.frames().subscribe(inOneGo::add);
        time.advanceTimeBy(Duration.ofSeconds(15));
        slow.close();

        Simulation ahead = new Simulation(Settings.of(settings), time, random.create(seed));
        frames.addAll(ahead.history());
        assertThat(frames).hasSize(100);
        assertThat(frames.get(99).atMicros()).isEqualTo(10_000_000);
        ahead.frames().subscribe(frames::add);
        time.advanceTimeBy(Duration.ofSeconds(5));
        ahead.close();

        assertThat(events(frames)).as("seed %d", seed).hasSizeGreaterThan(1_000).isEqualTo(events(inOneGo));
    }

    /** But for those of windows, which begin at whole seconds of the clock. */
    private static List<String> events(List<Frame> frames) {
        return frames.stream()
                .flatMap(frame -> frame.events().stream())
                .filter(event -> event[0] < Kind.FIXED_WINDOW.ordinal())
                .map(Arrays::toString)
                .sorted()
                .toList();
    }

    @Test
    void floodIsBounded() {
        Simulation simulation = start(Map.of("traffic", "flood"));
        simulation.frames().subscribe(frames::add);
        time.advanceTimeBy(Duration.ofSeconds(2));
        simulation.close();

        assertThat(count(Frame.NO_LANE, What.ARRIVED)).isBetween(599L, 601L);
    }

    @Test
    void aPageThatStopsReadingIsGivenUpBeforeItCostsMuch() {
        Simulation simulation = start(Map.of("traffic", "flood"));
        List<String> signals = new ArrayList<>();
        simulation.frames().subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {}

            @Override
            protected void hookOnComplete() {
                signals.add("complete");
            }
        });

        time.advanceTimeBy(Duration.ofSeconds(60));

        assertThat(signals).containsExactly("complete");
        simulation.close();
    }
}

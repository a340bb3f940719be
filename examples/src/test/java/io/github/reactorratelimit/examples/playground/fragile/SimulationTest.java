package io.github.reactorratelimit.examples.playground.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.fragile.Frame.Side;
import io.github.reactorratelimit.examples.playground.fragile.Frame.Totals;
import io.github.reactorratelimit.examples.playground.fragile.Frame.What;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The second tab's two servers and the real limiters, in virtual time. */
class SimulationTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Frame> frames = new ArrayList<>();
    private final Map<String, Object> wanted = FragileApiTest.settings();
    private Simulation simulation;

    @AfterEach
    void close() {
        simulation.close();
    }

    private void start(Map<String, Object> settings) {
        wanted.putAll(settings);
        simulation = new Simulation(Settings.of(wanted), time, RandomGenerator.getDefault());
        simulation.frames().subscribe(frames::add);
    }

    private void change(Map<String, Object> settings) {
        wanted.putAll(settings);
        simulation.change(Settings.of(wanted));
    }

    private void run(Duration duration) {
        time.advanceTimeBy(duration);
    }

    /** Nothing comes any more, and all that came has ended and is in a frame. */
    private void drain() {
        change(Map.of("traffic", "clicks"));
        run(Duration.ofSeconds(20));
    }

    private LongStream timesOf(int side, What what) {
        return frames.stream()
                .flatMap(frame -> frame.events().stream())
                .filter(event -> event[0] == side && event[1] == what.code)
                .mapToLong(event -> event[3]);
    }

    private long count(Side side, What what) {
        return timesOf(side.code, what).count();
    }

    private long countSince(Side side, What what, Duration start) {
        long startMicros = start.toNanos() / 1_000;
        return timesOf(side.code, what).filter(at -> at >= startMicros).count();
    }

    private long ends(Side side) {
        return Stream.of(What.GOOD, What.REFUSED, What.FAILED, What.TURNED_AWAY)
                .mapToLong(what -> count(side, what))
                .sum();
    }

    private Totals totals(Side side) {
        return simulation.totals().get(side.code);
    }

    private long foundLimit() {
        return frames.get(frames.size() - 1).foundLimit();
    }

    /** What is told to the page is what servers and limiter counted themselves. */
    private void checkTotals() {
        long calls = timesOf(Frame.NO_SIDE, What.WANTED).count();
        assertThat(calls).isPositive();
        for (Side side : Side.values()) {
            FragileServer.Counted server = totals(side).server();
            assertThat(ends(side)).as("ends " + side).isEqualTo(calls);
            assertThat(server.inside()).isZero();
            assertThat(server.received())
                    .isEqualTo(server.answered() + server.refused() + server.failed() + server.late());
            assertThat(count(side, What.SENT)).isEqualTo(server.received());
            assertThat(count(side, What.GOOD)).isEqualTo(server.answered());
            assertThat(count(side, What.TURNED_AWAY)).isEqualTo(totals(side).denied());
            if ("never".equals(wanted.get("retries"))) {
                assertThat(count(side, What.REFUSED)).isEqualTo(server.refused());
                assertThat(count(side, What.FAILED)).isEqualTo(server.failed() + server.late());
            }
        }
    }

    static Stream<Arguments> everything() {
        return Arrays.stream(Breaks.values())
                .flatMap(breaks -> Arrays.stream(Shape.values())
                        .flatMap(shape ->
                                Arrays.stream(Retries.values()).map(retries -> Arguments.of(breaks, shape, retries))));
    }

    @ParameterizedTest
    @MethodSource("everything")
    void everyCallEndsOnceOnEachSideAndIsCountedByTheServer(Breaks breaks, Shape shape, Retries retries) {
        start(Map.of(
                "breaks", Fields.textOf(breaks),
                "shape", Fields.textOf(shape),
                "retries", Fields.textOf(retries),
                "traffic", "poisson",
                "trafficRate", 90));
        run(Duration.ofSeconds(5));
        simulation.click(50);
        simulation.haveABadMoment(Duration.ofSeconds(1));
        run(Duration.ofSeconds(2));
        drain();

        checkTotals();
    }

    @ParameterizedTest
    @EnumSource(Shape.class)
    void whoWaitsAtALimiterThatIsReplacedAsksTheNextOne(Shape next) {
        start(Map.of("traffic", "steady", "trafficRate", 150, "rate", 20, "maxWaitMillis", 10_000));
        for (Shape shape : List.of(next, Shape.CONCURRENCY, Shape.LEAKY_BUCKET)) {
            run(Duration.ofSeconds(1));
            assertThat(frames.get(frames.size() - 1).waiting()).isPositive();
            change(Map.of("shape", Fields.textOf(shape)));
        }
        drain();

        checkTotals();
    }

    @Test
    void aBurstIsRefusedWithoutALimiterAndLeavesEvenlySpacedWithOne() {
        start(Map.of("traffic", "clicks"));
        simulation.click(60);
        run(Duration.ofSeconds(4));

        assertThat(count(Side.WITHOUT, What.GOOD)).isEqualTo(11);
        assertThat(count(Side.WITHOUT, What.REFUSED)).isEqualTo(49);
        assertThat(count(Side.WITH, What.GOOD)).isEqualTo(60);
        long[] sent = timesOf(Side.WITH.code, What.SENT).toArray();
        for (int i = 1; i < sent.length; i++) {
            assertThat(sent[i] - sent[i - 1]).isEqualTo(25_000);
        }
    }

    @Test
    void aServerThatFailsIsLostWithoutALimiterAndServesAllItCanWithOne() {
        start(Map.of("breaks", "fails", "traffic", "steady", "trafficRate", 60, "maxWaitMillis", 500));
        run(Duration.ofSeconds(15));

        assertThat(countSince(Side.WITHOUT, What.GOOD, Duration.ofSeconds(5))).isZero();
        assertThat(countSince(Side.WITH, What.GOOD, Duration.ofSeconds(5))).isBetween(398L, 401L);
        assertThat(count(Side.WITH, What.FAILED)).isZero();
    }

    @Test
    void aSlowServerWorksForNobodyWithoutALimiterAndAnswersInTimeWithAConcurrencyLimit() {
        start(Map.of(
                "breaks",
                "slows-down",
                "traffic",
                "steady",
                "trafficRate",
                60,
                "shape",
                "concurrency",
                "inFlight",
                6,
                "maxWaitMillis",
                500));
        run(Duration.ofSeconds(15));

        assertThat(countSince(Side.WITHOUT, What.GOOD, Duration.ofSeconds(5))).isZero();
        assertThat(totals(Side.WITHOUT).server().late()).isGreaterThan(300);
        assertThat(countSince(Side.WITH, What.GOOD, Duration.ofSeconds(5))).isBetween(398L, 401L);
        assertThat(totals(Side.WITH).server().late()).isZero();
    }

    @Test
    void retriesAtOnceMultiplyTheLoadOfAServerThatFails() {
        start(Map.of("breaks", "fails", "retries", "again", "traffic", "steady", "trafficRate", 60));
        run(Duration.ofSeconds(10));
        drain();

        assertThat(count(Side.WITHOUT, What.SENT)).isGreaterThan(3 * 600);
        assertThat(count(Side.WITH, What.SENT)).isEqualTo(count(Side.WITH, What.GOOD));
    }

    @Test
    void afterARefusalNothingIsSentUntilTheTimeItNamed() {
        start(Map.of(
                "shape", "retry-after", "capacity", 10, "rate", 100, "traffic", "clicks", "maxWaitMillis", 10_000));
        simulation.click(30);
        run(Duration.ofSeconds(1));
        long firstRefusal = timesOf(Side.WITH.code, What.REFUSED).findFirst().orElseThrow();
        assertThat(frames.get(frames.size() - 1).waiting()).isPositive();
        run(Duration.ofSeconds(9));

        long[] later = timesOf(Side.WITH.code, What.SENT)
                .filter(at -> at > firstRefusal)
                .toArray();
        assertThat(later).isNotEmpty();
        assertThat(later[0] - firstRefusal).isBetween(1_000_000L, 1_150_000L);
    }

    @Test
    void anAdaptiveLimitFindsTheCapacityAndFollowsABadMoment() {
        start(new HashMap<>(Map.of(
                "shape", "adaptive", "capacity", 80, "traffic", "steady", "trafficRate", 200, "maxWaitMillis", 500)));
        run(Duration.ofSeconds(30));
        assertThat(foundLimit()).isBetween(56L, 120L);

        simulation.haveABadMoment(Duration.ofSeconds(20));
        run(Duration.ofSeconds(15));
        assertThat(frames.get(frames.size() - 1).capacity()).isEqualTo(40);
        assertThat(foundLimit()).isLessThanOrEqualTo(60);
        assertThat(countSince(Side.WITH, What.GOOD, Duration.ofSeconds(35))).isGreaterThan(340);

        run(Duration.ofSeconds(25));
        assertThat(frames.get(frames.size() - 1).capacity()).isEqualTo(80);
        assertThat(foundLimit()).isGreaterThan(60);
    }

    @Test
    void aChangedRateCountsForThoseWhoWait() {
        start(Map.of("traffic", "clicks", "rate", 1, "maxWaitMillis", 10_000));
        simulation.click(8);
        run(Duration.ofMillis(500));
        assertThat(frames.get(frames.size() - 1).waiting()).isEqualTo(7);

        change(Map.of("rate", 100));
        run(Duration.ofMillis(700));

        assertThat(count(Side.WITH, What.GOOD)).isEqualTo(8);
    }
}

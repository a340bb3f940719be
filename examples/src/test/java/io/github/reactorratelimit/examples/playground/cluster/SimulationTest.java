package io.github.reactorratelimit.examples.playground.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.cluster.Frame.Course;
import io.github.reactorratelimit.examples.playground.cluster.Settings.Asking;
import io.github.reactorratelimit.examples.playground.cluster.Settings.Failure;
import io.github.reactorratelimit.examples.playground.cluster.Simulation.Deed;
import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** With a real Redis, and so in real time: waits for what must happen, and checks what may never. */
class SimulationTest {

    private static final int RATE = 20;
    private static final int BURST = 6;
    private static final TokenBucket POLICY = TokenBucket.perSecond(RATE).withBurst(BURST);
    /** The clocks of Redis and of this JVM need not go at quite the same pace. */
    private static final double CLOCKS = 1.01;

    private final Scheduler scheduler = Schedulers.newParallel("cluster-test", 2, true);
    private final List<Frame> frames = new CopyOnWriteArrayList<>();
    private Simulation simulation;
    private Disposable page;

    private void open(Map<String, Object> changes) {
        simulation = new Simulation(Settings.of(ClusterApiTest.settings(changes)), scheduler);
        page = simulation.frames().subscribe(frames::add);
    }

    private void redis(Deed deed) {
        simulation.redis(deed).block();
    }

    private void change(Map<String, Object> changes) {
        simulation.change(Settings.of(ClusterApiTest.settings(changes)));
    }

    private Frame last() {
        return frames.isEmpty() ? until("the first frame", frame -> true) : frames.get(frames.size() - 1);
    }

    /** The first frame from now on of which this holds. */
    private Frame until(String what, Predicate<Frame> condition) {
        int[] from = {frames.size()};
        Await.until(what, () -> {
            while (from[0] < frames.size() && !condition.test(frames.get(from[0]))) {
                from[0]++;
            }
            return from[0] < frames.size();
        });
        return frames.get(from[0]);
    }

    private static long sum(Frame frame, ToLongFunction<Course> count) {
        return frame.instances().stream().mapToLong(count).sum();
    }

    private static boolean each(Frame frame, Predicate<Course> condition) {
        return frame.instances().stream().allMatch(condition);
    }

    private static long withRedis(Course course) {
        return course.allowed() + course.denied() - course.alone();
    }

    private Frame untilAlone(Frame since, int decisions) {
        List<Course> before = since.instances();
        return until(
                "each instance decides without Redis",
                frame -> frame.instances().get(0).alone() >= before.get(0).alone() + decisions
                        && frame.instances().get(1).alone() >= before.get(1).alone() + decisions);
    }

    /** Nothing arrives any more, and all that did has been answered. */
    private Frame untilQuiet(Map<String, Object> changes) {
        Map<String, Object> quiet = new HashMap<>(changes);
        quiet.putAll(Map.of("firstRate", 0, "secondRate", 0));
        change(quiet);
        Frame[] before = {last()};
        return until("all is answered", frame -> {
            boolean isQuiet = frame.instances().equals(before[0].instances())
                    && each(frame, course -> course.arrived() == course.allowed() + course.denied());
            before[0] = frame;
            return isQuiet;
        });
    }

    private static void assertBound(long allowed, TokenBucket policy, Frame from, Frame to) {
        double seconds = (to.atMicros() - from.atMicros()) / 1e6 * CLOCKS;
        double bound =
                policy.capacity() + policy.refill() * seconds / policy.period().toSeconds();
        assertThat((double) allowed).isLessThanOrEqualTo(bound);
    }

    @AfterEach
    void close() {
        page.dispose();
        simulation.close();
        RedisProcesses.awaitNone();
        scheduler.dispose();
    }

    @Test
    void nothingRunsBeforeRedisIsAskedFor() {
        open(Map.of());

        Frame frame = until("some frames", each -> frames.size() > 3);

        assertThat(frame.redis()).isEqualTo("none");
        assertThat(sum(frame, Course::arrived)).isZero();
        assertThat(RedisProcesses.running()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Asking.class)
    void bothInstancesTogetherStayWithinTheBoundOfThePolicy(Asking asking) {
        open(Map.of("failure", "closed", "asking", Fields.textOf(asking)));
        Frame begun = until("a frame", frame -> true);
        redis(Deed.START);
        int first = frames.size();

        Frame ended = until("much has arrived", frame -> sum(frame, Course::arrived) >= 300);

        assertThat(sum(ended, Course::allowed)).isGreaterThanOrEqualTo(BURST);
        assertThat(each(ended, course -> course.denied() > 0)).isTrue();
        for (Frame frame : frames.subList(first, frames.indexOf(ended) + 1)) {
            assertBound(sum(frame, Course::allowed), POLICY, begun, frame);
        }
    }

    @ParameterizedTest
    @EnumSource(Failure.class)
    void afterTheKillTheChosenModeDecidesAndAfterTheRestartRedisDoes(Failure failure) {
        Map<String, Object> chosen = Map.of("failure", Fields.textOf(failure));
        open(chosen);
        redis(Deed.START);
        until("each instance is denied by Redis", frame -> each(frame, course -> withRedis(course) > 20));

        redis(Deed.KILL);
        assertThat(RedisProcesses.running()).isEmpty();
        Frame dead = untilAlone(last(), 5);
        assertThat(dead.redis()).isEqualTo("down");
        Frame later = untilAlone(dead, 50);

        for (int i = 0; i < 2; i++) {
            Course from = dead.instances().get(i);
            Course to = later.instances().get(i);
            switch (failure) {
                case OPEN -> assertThat(to.denied()).isEqualTo(from.denied());
                case CLOSED -> assertThat(to.allowed()).isEqualTo(from.allowed());
                case LOCAL -> {
                    assertThat(to.allowed()).isGreaterThan(from.allowed());
                    assertThat(to.denied()).isGreaterThan(from.denied());
                    assertBound(to.allowed() - from.allowed(), POLICY.share(2), dead, later);
                }
            }
        }

        Frame before = last();
        redis(Deed.START);
        Frame again = until(
                "Redis decides again",
                frame -> frame.instances().stream()
                        .allMatch(course -> withRedis(course)
                                > withRedis(before.instances()
                                                .get(frame.instances().indexOf(course)))
                                        + 20));
        assertThat(again.redis()).isEqualTo("up");

        Frame quiet = untilQuiet(chosen);
        for (int i = 0; i < 2; i++) {
            Frame.Totals totals = simulation.totals().get(i);
            Course course = quiet.instances().get(i);
            assertThat(totals.allowed()).isEqualTo(course.allowed());
            assertThat(totals.denied()).isEqualTo(course.denied());
            assertThat(totals.degraded())
                    .containsEntry(Fields.textOf(failure), course.alone())
                    .hasSize(Failure.values().length);
            assertThat(totals.degraded().values().stream()
                            .mapToLong(Long::longValue)
                            .sum())
                    .isEqualTo(course.alone());
        }
    }

    @Test
    void afterTheRestartBothTogetherStayWithinTheBoundAgain() {
        open(Map.of("failure", "closed"));
        redis(Deed.START);
        until("something is allowed", frame -> sum(frame, Course::allowed) > 0);
        redis(Deed.KILL);
        Frame dead = untilAlone(last(), 10);

        redis(Deed.START);
        Frame later =
                until("much is allowed again", frame -> sum(frame, Course::allowed) >= sum(dead, Course::allowed) + 30);

        assertBound(sum(later, Course::allowed) - sum(dead, Course::allowed), POLICY, dead, later);
    }

    @Test
    void aFrozenRedisIsDoneWithoutUntilItAnswersAgain() {
        open(Map.of("failure", "open"));
        redis(Deed.START);
        until("Redis decides", frame -> each(frame, course -> withRedis(course) > 5));
        Set<Long> pids = RedisProcesses.running();

        redis(Deed.FREEZE);
        Frame frozen = untilAlone(last(), 20);
        assertThat(frozen.redis()).isEqualTo("up");
        until("Redis decides again", frame -> each(frame, course -> !course.isAlone()));

        assertThat(RedisProcesses.running()).isEqualTo(pids).hasSize(1);
    }

    @Test
    void aModeThatIsChosenWhileRedisIsAwayHoldsAtOnce() {
        open(Map.of("failure", "closed"));
        redis(Deed.START);
        redis(Deed.KILL);
        untilAlone(last(), 5);

        change(Map.of("failure", "open"));
        Frame open = until("something is let through", frame -> each(frame, course -> course.allowed() > 100));
        change(Map.of("failure", "closed"));
        Frame closing = until(
                "something is denied again", frame -> sum(frame, Course::denied) > sum(open, Course::denied) + 20);
        Frame closed = untilAlone(closing, 20);

        assertThat(sum(closed, Course::allowed)).isEqualTo(sum(closing, Course::allowed));
    }

    @Test
    void startingTwiceStartsOneServer() {
        open(Map.of());
        redis(Deed.START);
        redis(Deed.START);

        assertThat(RedisProcesses.running()).hasSize(1);
    }

    @Test
    void aPageThatTakesNoFramesIsGivenUp() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        simulation = new Simulation(Settings.of(ClusterApiTest.settings(Map.of())), time);
        List<String> signals = new CopyOnWriteArrayList<>();
        BaseSubscriber<Frame> still = new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {}

            @Override
            protected void hookOnComplete() {
                signals.add("complete");
            }
        };
        page = still;
        simulation.frames().subscribe(still);

        time.advanceTimeBy(Duration.ofSeconds(59));
        assertThat(signals).isEmpty();
        time.advanceTimeBy(Duration.ofSeconds(2));

        assertThat(signals).containsExactly("complete");
    }

    @Test
    void aPageThatGoesWhileRedisStartsLeavesNoServer() {
        open(Map.of());
        simulation.redis(Deed.START).subscribe();

        simulation.close();

        assertThatThrownBy(() -> simulation.redis(Deed.START)).isInstanceOf(RejectedExecutionException.class);
        RedisProcesses.awaitNone();
    }
}

package io.github.reactorratelimit.examples.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.WarmUp;
import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.Replay;
import io.github.reactorratelimit.replay.ReplaySummary;
import java.io.IOException;
import java.io.StringReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReplayPartsTest {

    private static final long SECOND = 1_000_000_000;

    @Test
    void policiesAreReadFromTheirTexts() {
        assertThat(PolicyText.parse("token-bucket:10/s:burst=20"))
                .isEqualTo(TokenBucket.perSecond(10).withBurst(20));
        assertThat(PolicyText.parse("gcra:100/m")).isEqualTo(Gcra.perMinute(100));
        assertThat(PolicyText.parse("leaky-bucket:5/s:queue=50"))
                .isEqualTo(LeakyBucket.perSecond(5).withQueue(50));
        assertThat(PolicyText.parse("fixed-window:1000/15m")).isEqualTo(FixedWindow.of(1000, Duration.ofMinutes(15)));
        assertThat(PolicyText.parse("sliding-log:100/500ms"))
                .isEqualTo(SlidingWindowLog.of(100, Duration.ofMillis(500)));
        assertThat(PolicyText.parse("warm-up:100/s:over=30s")).isEqualTo(WarmUp.perSecond(100, Duration.ofSeconds(30)));
        assertThatThrownBy(() -> PolicyText.parse("warm-up:100/s")).hasMessageContaining(":over=30s");
        assertThatThrownBy(() -> PolicyText.parse("gcra:100/s:burst=3s")).hasMessageContaining("without a unit");
        assertThat(PolicyText.parse("sliding-counter:7/d")).isEqualTo(SlidingWindowCounter.of(7, Duration.ofDays(1)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "gcra",
                "gcra:1",
                "gcra:-1/s",
                "gcra:NaN/s",
                "gcra:1/0s",
                "gcra:0/s",
                "magic:1/s",
                "gcra:1/s:queue=1",
                "fixed-window:1/s:burst=2",
                "gcra:99999999999/s",
                "sliding-log:10001/s",
                "gcra:1/s "
            })
    void whatIsNoPolicyIsRefused(String text) {
        assertThatThrownBy(() -> PolicyText.parse(text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void countsOfKeysAreExactUpToTheCapacityAndNeverTooHighNorFurtherOffThanTheySay() {
        Random random = new Random(7);
        FrequentKeys counted = new FrequentKeys(50);
        Map<String, Long> exact = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            String key = "key" + (int) Math.abs(random.nextGaussian() * 60);
            counted.add(key);
            exact.merge(key, 1L, Long::sum);
            assertThat(counted.size()).isLessThanOrEqualTo(50);
        }

        assertThat(counted.error()).isPositive();
        exact.forEach((key, count) -> assertThat(counted.atLeast(key)).isBetween(count - counted.error(), count));
        FrequentKeys roomy = new FrequentKeys(1_000);
        exact.forEach((key, count) -> {
            for (long i = 0; i < count; i++) {
                roomy.add(key);
            }
        });
        assertThat(roomy.error()).isZero();
        assertThat(roomy.top(1).get(0).atLeast())
                .isEqualTo(
                        exact.values().stream().mapToLong(Long::longValue).max().orElseThrow());
    }

    @Test
    void aTimelineKeepsEveryCountHoweverLongTheLog() {
        Timeline timeline = new Timeline(2);
        for (long second = 0; second < 5_000; second++) {
            timeline.add(0, second * SECOND);
        }
        timeline.add(1, 0);

        assertThat(timeline.bucketNanos()).isEqualTo(16 * SECOND);
        assertThat(timeline.counts(0)).hasSize(313).startsWith(16L, 16L).endsWith(8L);
        assertThat(timeline.counts(1)).hasSize(313).startsWith(1L);
    }

    @Test
    void linesAreReadWhateverTheirEndsAndHoweverLong() throws IOException {
        String longest = "x".repeat(3 * LogLines.LONGEST);
        LogLines lines = new LogLines(new StringReader("a\r\n\nb\n" + longest + "\nlast"));
        List<String> read = new ArrayList<>();
        for (String line = lines.next(); line != null; line = lines.next()) {
            read.add(line);
        }

        assertThat(read).hasSize(5).startsWith("a", "", "b").endsWith("last");
        assertThat(read.get(3)).hasSizeBetween(LogLines.LONGEST / 2, LogLines.LONGEST);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 400})
    void aComparisonSaysWhatTheReplayOfTheLibrarySays(int maxWaitMillis) {
        List<String> policies = List.of("token-bucket:3/s:burst=5", "leaky-bucket:2/s:queue=4", "sliding-log:9/3s");
        Duration maxWait = Duration.ofMillis(maxWaitMillis);
        Comparison comparison = Comparison.of(policies, maxWait, 3);
        List<Arrival> arrivals = new ArrayList<>();
        Random random = new Random(11);
        long at = 0;
        for (int i = 0; i < 3_000; i++) {
            at += (long) (random.nextDouble() * SECOND / 5);
            String key = "key" + random.nextInt(3);
            arrivals.add(Arrival.at(Duration.ofNanos(at), key));
            comparison.add(new LogRecord(at, key));
        }

        ReplayReport report = comparison.report(0, 3);
        for (ReplayReport.Outcome outcome : report.outcomes()) {
            ReplaySummary expected = Replay.of(PolicyText.parse(outcome.policy()))
                    .delaying(maxWait)
                    .run(arrivals)
                    .summary();
            assertThat(outcome.allowed()).isEqualTo(expected.allowed());
            assertThat(outcome.denied()).isEqualTo(expected.denied()).isPositive();
            assertThat(outcome.delayed()).isEqualTo(expected.delayed());
            assertThat(sum(outcome.departures())).isEqualTo(expected.allowed());
            assertThat(sum(outcome.denials())).isEqualTo(expected.denied());
            assertThat(outcome.worst().stream()
                            .mapToLong(ReplayReport.LimitedKey::denied)
                            .sum())
                    .isEqualTo(expected.denied());
        }
    }

    private static long sum(List<Long> counts) {
        return counts.stream().mapToLong(Long::longValue).sum();
    }

    @Test
    void oneKeyMoreThanAreTakenIsRefused() {
        Comparison comparison = Comparison.of(List.of("fixed-window:1/h"), Duration.ZERO, 2);
        for (String key : List.of("a", "b", "a", "b")) {
            comparison.add(new LogRecord(0, key));
        }

        assertThatThrownBy(() -> comparison.add(new LogRecord(0, "c")))
                .isInstanceOf(TooManyKeysException.class)
                .hasMessage("more than 2 different keys");
    }

    @Test
    void aLongKeyIsCutAndStillDiffersFromOthers() {
        String shared = "/".repeat(60_000);
        LogRecord one = new LogRecord(0, shared + "1");
        LogRecord other = new LogRecord(0, shared + "2");

        assertThat(one.key()).hasSizeLessThanOrEqualTo(256).startsWith("//").contains("…");
        assertThat(one).isNotEqualTo(other).isEqualTo(new LogRecord(0, shared + "1"));
    }

    @Test
    void aRequestThatIsLoggedLateCountsWithTheOneAhead() {
        Comparison comparison = Comparison.of(List.of("fixed-window:1/h"), Duration.ZERO, 2);
        comparison.add(new LogRecord(100 * SECOND, "a"));
        comparison.add(new LogRecord(99 * SECOND, "b"));

        ReplayReport report = comparison.report(0, 3);
        assertThat(report.outOfOrder()).isEqualTo(1);
        assertThat(report.outcomes().get(0).allowed()).isEqualTo(2);
        assertThat(report.from()).isEqualTo(report.to());
    }
}

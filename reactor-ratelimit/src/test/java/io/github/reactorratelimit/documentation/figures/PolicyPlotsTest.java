package io.github.reactorratelimit.documentation.figures;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.Replay;
import io.github.reactorratelimit.replay.ReplayEvent;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The plots in {@code docs/plots} show what the policies decide: each is drawn from a replay. */
class PolicyPlotsTest {

    private static final Figures FIGURES = new Figures("plots");
    private static final Duration SECOND = Duration.ofSeconds(1);

    @Test
    void tenASecondRejectingIsAsDrawn() throws IOException {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        policies.put("TokenBucket", TokenBucket.perSecond(10));
        policies.put("… burst 3", TokenBucket.perSecond(10).withBurst(3));
        policies.put("… stepwise", TokenBucket.perSecond(10).stepwise());
        policies.put("LeakyBucket", LeakyBucket.perSecond(10));
        policies.put("FixedWindow", FixedWindow.of(10, SECOND));
        policies.put("SlidingWindowLog", SlidingWindowLog.of(10, SECOND));
        policies.put("SlidingWindowCounter", SlidingWindowCounter.of(10, SECOND));
        BarRows rows = rows();
        policies.forEach((name, policy) -> add(rows, name, Replay.of(policy)));
        FIGURES.check("rejecting", rows.document(Duration.ofSeconds(2)));
    }

    @Test
    void tenASecondWaitingIsAsDrawn() throws IOException {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        policies.put("TokenBucket", TokenBucket.perSecond(10));
        policies.put("Gcra, burst 3", Gcra.perSecond(10).withBurst(3));
        policies.put("LeakyBucket", LeakyBucket.perSecond(10).withQueue(20));
        policies.put("FixedWindow", FixedWindow.of(10, SECOND));
        BarRows rows = rows();
        policies.forEach((name, policy) -> add(rows, name, Replay.of(policy).delaying(SECOND)));
        FIGURES.check("waiting", rows.document(Duration.ofSeconds(2)));
    }

    private static BarRows rows() {
        BarRows rows = new BarRows(Traffic.LENGTH, Duration.ofMillis(100), 20);
        int[] came = rows.newBins();
        List<Arrival> arrivals = Traffic.arrivals();
        arrivals.forEach(arrival -> came[rows.binOf(arrival.at())]++);
        return rows.arrivals("what comes", came, arrivals.size() + " requests");
    }

    private static void add(BarRows rows, String name, Replay replay) {
        List<ReplayEvent> events = replay.run(Traffic.arrivals()).events();
        int[] passed = rows.newBins();
        int[] denied = rows.newBins();
        events.forEach(event -> event.departure()
                .ifPresentOrElse(
                        at -> passed[rows.binOf(at)]++,
                        () -> denied[rows.binOf(event.arrival().at())]++));
        long allowed = events.stream().filter(ReplayEvent::allowed).count();
        List<Duration> departures =
                events.stream().flatMap(event -> event.departure().stream()).toList();
        rows.row(
                name,
                passed,
                denied,
                allowed + " pass, " + (events.size() - allowed) + " denied",
                "at most " + MostInASecond.of(departures) + " in any second");
    }
}

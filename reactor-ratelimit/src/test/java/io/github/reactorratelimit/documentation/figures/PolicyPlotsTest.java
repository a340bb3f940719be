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
        List<Arrival> arrivals = Traffic.arrivals();
        PolicyPlot plot = new PolicyPlot().arrivals(arrivals);
        policies.forEach(
                (name, policy) -> plot.row(name, Replay.of(policy).run(arrivals).events()));
        FIGURES.check("rejecting", plot.document());
    }

    @Test
    void tenASecondWaitingIsAsDrawn() throws IOException {
        Map<String, RateLimitPolicy> policies = new LinkedHashMap<>();
        policies.put("TokenBucket", TokenBucket.perSecond(10));
        policies.put("Gcra, burst 3", Gcra.perSecond(10).withBurst(3));
        policies.put("LeakyBucket", LeakyBucket.perSecond(10).withQueue(20));
        policies.put("FixedWindow", FixedWindow.of(10, SECOND));
        List<Arrival> arrivals = Traffic.arrivals();
        PolicyPlot plot = new PolicyPlot().arrivals(arrivals);
        policies.forEach((name, policy) ->
                plot.row(name, Replay.of(policy).delaying(SECOND).run(arrivals).events()));
        FIGURES.check("waiting", plot.document());
    }
}

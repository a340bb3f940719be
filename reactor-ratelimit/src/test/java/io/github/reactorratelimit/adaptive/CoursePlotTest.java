package io.github.reactorratelimit.adaptive;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.adaptive.SimulatedDownstream.Manner;
import io.github.reactorratelimit.documentation.figures.Figures;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The plot of {@code docs/adaptive.md} is as it is drawn now. {@code -Dratelimit.docs.write=true} writes it. */
class CoursePlotTest {

    private static final List<Simulation.Phase> PHASES = List.of(
            new Simulation.Phase(100, ofSeconds(60)),
            new Simulation.Phase(20, ofSeconds(60)),
            new Simulation.Phase(150, ofSeconds(60)));

    private static List<Simulation.Point> run(AdaptivePolicy policy, Manner manner) {
        return new Simulation(policy, manner, ofMillis(50), 0.3, 0, 300).run(PHASES, 1);
    }

    @Test
    void plotShowsWhatTheLimitsDo() throws IOException {
        AdaptiveRate aimd = AdaptiveRate.aimd(5, 500, ofSeconds(1));
        AdaptiveRate gradient = AdaptiveRate.gradient(5, 500, ofSeconds(1));
        CoursePlot plot = new CoursePlot(200);
        plot.add("AIMD; the downstream refuses what is too much", run(aimd, Manner.REFUSES));
        plot.add(
                "AIMD, told that 200 ms are slow; the downstream only slows down",
                run(aimd.withAdaptation(Adaptation.aimd().withSlowCalls(ofMillis(200))), Manner.SLOWS_DOWN));
        plot.add("gradient; the downstream only slows down", run(gradient, Manner.SLOWS_DOWN));
        plot.add("gradient; the downstream slows down, then refuses", run(gradient, Manner.SLOWS_DOWN_AND_REFUSES));
        plot.add("AIMD; the downstream fails, which costs it as much as an answer", run(aimd, Manner.FAILS));
        new Figures("plots").check("adaptive", plot.document());
    }
}

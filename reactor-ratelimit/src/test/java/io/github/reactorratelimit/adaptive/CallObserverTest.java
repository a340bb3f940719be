package io.github.reactorratelimit.adaptive;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Drops;
import io.github.reactorratelimit.testing.ExpectsDrops;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

class CallObserverTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    @AfterEach
    void endTime() {
        time.dispose();
    }

    @Test
    @ExpectsDrops
    void limitThatCouldNotBeAppliedSpoilsNoCallAndWhatIsSeenLaterCounts() {
        AdaptiveRate rate = AdaptiveRate.aimd(5, 500, Duration.ofSeconds(1))
                .withInitial(100)
                .withAdaptation(Adaptation.aimd().withToleratedOverload(0));
        List<Long> told = new ArrayList<>();
        AssertionError refused = new AssertionError("limit is not taken");
        CallObserver observer = new CallObserver(rate, OutcomeClassifier.defaults(), time, limit -> {
            told.add(limit);
            throw refused;
        });
        long first = observer.started();
        observer.cameBack(first, CallOutcome.OVERLOAD);
        observer.ended();
        assertThat(told).containsExactly(90L);
        assertThat(Drops.take()).containsExactly(refused);

        observer.started();
        observer.started();

        assertThat(observer.snapshot().inFlight()).isEqualTo(2);
        assertThat(observer.snapshot().limit()).isEqualTo(90);
    }
}

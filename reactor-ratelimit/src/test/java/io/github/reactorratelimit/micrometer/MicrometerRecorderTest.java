package io.github.reactorratelimit.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class MicrometerRecorderTest {

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final RateLimitRecorder recorder = MicrometerRecorder.create(registry, "orders");

    private double count(RateLimitMeter meter, String... tags) {
        return registry.get(meter.meterName())
                .tag("limiter", "orders")
                .tags(tags)
                .counter()
                .count();
    }

    private double waiters() {
        return registry.get("ratelimit.waiters")
                .tag("limiter", "orders")
                .gauge()
                .value();
    }

    @Test
    void allowedRequestsAndTheirPermitsAreCounted() {
        recorder.decided(true, 3);
        recorder.decided(true, 1);

        assertThat(count(RateLimitMeter.DECISIONS, "outcome", "allowed")).isEqualTo(2);
        assertThat(count(RateLimitMeter.DECISIONS, "outcome", "denied")).isZero();
        assertThat(count(RateLimitMeter.PERMITS_TAKEN)).isEqualTo(4);
    }

    @Test
    void lateAnswersAreTimed() {
        recorder.deliveredLate(3_000_000);
        recorder.deliveredLate(1_000_000);

        assertThat(registry.get("ratelimit.lateness").timer().count()).isEqualTo(2);
        assertThat(registry.get("ratelimit.lateness").timer().max(TimeUnit.MILLISECONDS))
                .isEqualTo(3);
    }

    @Test
    void clockOfTheServerIsAGaugeOfSecondsOnceItWasRead() {
        assertThat(gauge(RateLimitMeter.CLOCK_AHEAD)).isNaN();
        assertThat(gauge(RateLimitMeter.CLOCK_ERROR)).isNaN();

        recorder.clockRead(-1_500_000_000, 2_000_000);
        assertThat(gauge(RateLimitMeter.CLOCK_AHEAD)).isEqualTo(-1.5);
        assertThat(gauge(RateLimitMeter.CLOCK_ERROR)).isEqualTo(0.002);

        MicrometerRecorder.create(registry, "orders").clockRead(500_000_000, 1_000_000);
        assertThat(gauge(RateLimitMeter.CLOCK_AHEAD))
                .as("shared by all recorders of a name")
                .isEqualTo(0.5);
    }

    private double gauge(RateLimitMeter meter) {
        return registry.get(meter.meterName()).tag("limiter", "orders").gauge().value();
    }

    @ParameterizedTest
    @CsvSource({"PREPAID_EXPIRED, expired", "PREPAID_LOST, lost", "PREPAID_UNANSWERED, unanswered"})
    void strandedPrepaidPermitsAreCountedByOutcome(Event how, String outcome) {
        recorder.counted(how, 8);

        for (String any : List.of("expired", "lost", "unanswered")) {
            assertThat(count(RateLimitMeter.PREPAID_STRANDED, "outcome", any)).isEqualTo(any.equals(outcome) ? 8 : 0);
        }
    }

    @Test
    void lostLeasesAreCountedInPermits() {
        recorder.counted(Event.LEASE_LOST, 3);

        assertThat(count(RateLimitMeter.LEASES_LOST)).isEqualTo(3);
    }

    @Test
    void deniedRequestsTakeNoPermits() {
        recorder.decided(false, 5);

        assertThat(count(RateLimitMeter.DECISIONS, "outcome", "denied")).isEqualTo(1);
        assertThat(count(RateLimitMeter.DECISIONS, "outcome", "allowed")).isZero();
        assertThat(count(RateLimitMeter.PERMITS_TAKEN)).isZero();
    }

    @Test
    void refundsAreCountedInPermits() {
        recorder.counted(Event.REFUNDED, 3);
        recorder.counted(Event.REFUNDED, 4);

        assertThat(count(RateLimitMeter.PERMITS_REFUNDED)).isEqualTo(7);
    }

    @ParameterizedTest
    @EnumSource(WaitOutcome.class)
    void waitsAreTimedByHowTheyEnded(WaitOutcome outcome) {
        recorder.queueChanged(1);
        recorder.queueChanged(1);
        assertThat(waiters()).isEqualTo(2);

        recorder.queueChanged(-1);
        recorder.waited(outcome, TimeUnit.MILLISECONDS.toNanos(250));

        assertThat(waiters()).isEqualTo(1);
        for (WaitOutcome any : WaitOutcome.values()) {
            var timer = registry.get("ratelimit.waits")
                    .tag("outcome", any.name().toLowerCase(java.util.Locale.ROOT))
                    .timer();
            assertThat(timer.count()).isEqualTo(any == outcome ? 1 : 0);
            assertThat(timer.totalTime(TimeUnit.MILLISECONDS)).isEqualTo(any == outcome ? 250 : 0);
        }
    }

    @Test
    void whatTheShadowWouldHaveAnsweredIsCountedApart() {
        recorder.counted(Event.SHADOW_ALLOWED, 3);
        recorder.counted(Event.SHADOW_DENIED, 5);
        recorder.counted(Event.SHADOW_DENIED, 1);
        recorder.counted(Event.SHADOW_FAILED, 0);

        assertThat(count(RateLimitMeter.SHADOW_DECISIONS, "outcome", "allowed")).isEqualTo(1);
        assertThat(count(RateLimitMeter.SHADOW_DECISIONS, "outcome", "denied")).isEqualTo(2);
        assertThat(count(RateLimitMeter.SHADOW_FAILURES)).isEqualTo(1);
        assertThat(count(RateLimitMeter.DECISIONS, "outcome", "denied")).isZero();
    }

    @ParameterizedTest
    @CsvSource({"OPEN, open", "CLOSED, closed", "LOCAL, local"})
    void degradedDecisionsAreCountedByMode(Degradation degradation, String mode) {
        recorder.counted(degradation.event(), 5);

        assertThat(count(RateLimitMeter.DEGRADED, "mode", mode)).isEqualTo(1);
        assertThat(registry.get("ratelimit.degraded").counters())
                .extracting(counter -> counter.count())
                .containsExactlyInAnyOrder(1.0, 0.0, 0.0);
    }

    @Test
    void callsThatTheStoreAnsweredWithAnErrorAreCounted() {
        recorder.counted(Event.STORE_FAILED, 0);

        assertThat(count(RateLimitMeter.STORE_FAILURES)).isEqualTo(1);
    }

    @Test
    void everyMeterIsThereFromTheStartWithTheTagsAndDescriptionOfTheEnum() {
        for (RateLimitMeter meter : RateLimitMeter.values()) {
            assertThat(registry.get(meter.meterName()).meters()).isNotEmpty().allSatisfy(registered -> {
                assertThat(registered.getId().getDescription()).isEqualTo(meter.description());
                assertThat(registered.getId().getTags())
                        .extracting(Tag::getKey)
                        .containsExactlyInAnyOrderElementsOf(meter.tags());
            });
        }
        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .extracting(Meter.Id::getName)
                .containsOnly(Arrays.stream(RateLimitMeter.values())
                        .map(RateLimitMeter::meterName)
                        .toArray(String[]::new));
    }

    @Test
    void namesAndTagsAreThoseThatDashboardsWereBuiltOn() {
        assertThat(RateLimitMeter.values())
                .extracting(meter -> meter.meterName() + " " + meter.tags())
                .containsExactly(
                        "ratelimit.decisions [limiter, outcome]",
                        "ratelimit.permits.taken [limiter]",
                        "ratelimit.permits.refunded [limiter]",
                        "ratelimit.reservations [limiter, outcome]",
                        "ratelimit.permits.settled [limiter]",
                        "ratelimit.permits.uncharged [limiter]",
                        "ratelimit.permits.lost [limiter]",
                        "ratelimit.waits [limiter, outcome]",
                        "ratelimit.waiters [limiter]",
                        "ratelimit.shadow.decisions [limiter, outcome]",
                        "ratelimit.shadow.failures [limiter]",
                        "ratelimit.lateness [limiter]",
                        "ratelimit.clock.ahead [limiter]",
                        "ratelimit.clock.error [limiter]",
                        "ratelimit.prepaid.stranded [limiter, outcome]",
                        "ratelimit.leases.lost [limiter]",
                        "ratelimit.store.failures [limiter]",
                        "ratelimit.degraded [limiter, mode]");
    }

    @Test
    void recordersOfOneNameCountTogether() {
        RateLimitRecorder second = MicrometerRecorder.create(registry, "orders");
        recorder.queueChanged(1);
        second.queueChanged(1);
        second.decided(true, 1);
        recorder.decided(true, 1);

        assertThat(waiters()).isEqualTo(2);
        assertThat(count(RateLimitMeter.PERMITS_TAKEN)).isEqualTo(2);
    }

    @Test
    void recordersOfDifferentNamesOrRegistriesCountApart() {
        SimpleMeterRegistry elsewhere = new SimpleMeterRegistry();
        MicrometerRecorder.create(registry, "quotes").queueChanged(1);
        MicrometerRecorder.create(elsewhere, "orders").queueChanged(1);

        assertThat(waiters()).isZero();
        assertThat(registry.get("ratelimit.waiters")
                        .tag("limiter", "quotes")
                        .gauge()
                        .value())
                .isEqualTo(1);
    }

    @Test
    void badArgumentsAreRefusedByName() {
        assertThatNullPointerException()
                .isThrownBy(() -> MicrometerRecorder.create(null, "orders"))
                .withMessage("registry");
        assertThatNullPointerException()
                .isThrownBy(() -> MicrometerRecorder.create(registry, null))
                .withMessage("limiter");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MicrometerRecorder.create(registry, " "))
                .withMessage("limiter must not be blank");
    }
}

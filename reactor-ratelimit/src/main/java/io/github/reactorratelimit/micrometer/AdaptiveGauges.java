package io.github.reactorratelimit.micrometer;

import io.github.reactorratelimit.adaptive.AdaptiveLimiter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Gauges of an {@link AdaptiveLimiter} in a Micrometer registry, with its name as the tag {@code limiter}. The registry keeps the limiter
 * alive. A {@link MicrometerRecorder} counts its decisions and waits.
 *
 * <pre>{@code
 * AdaptiveGauges.register(registry, limiter);
 * }</pre>
 */
public final class AdaptiveGauges {

    /** A gauge: permits per period, or calls in flight, that are allowed now. */
    public static final String LIMIT = "ratelimit.adaptive.limit";

    /** A gauge of calls that were sent and have not ended. */
    public static final String IN_FLIGHT = "ratelimit.adaptive.in.flight";

    /** A gauge of seconds: the latency of calls to an idle downstream; NaN while nothing is known. */
    public static final String BASELINE_LATENCY = "ratelimit.adaptive.latency.baseline";

    /** A gauge of seconds since the last sign of overload; NaN if there was none. */
    public static final String SINCE_OVERLOAD = "ratelimit.adaptive.since.overload";

    private static final double NANOS_PER_SECOND = 1e9;

    private AdaptiveGauges() {}

    /** Registers the gauges of a limiter. Of two limiters of one name in one registry the first is shown. */
    public static void register(MeterRegistry registry, AdaptiveLimiter limiter) {
        Objects.requireNonNull(registry, "registry");
        Objects.requireNonNull(limiter, "limiter");
        Consumer<Gauge.Builder<?>> register = gauge -> gauge.tag(RateLimitMeter.LIMITER, limiter.name())
                .strongReference(true)
                .register(registry);
        register.accept(Gauge.builder(LIMIT, limiter, AdaptiveLimiter::currentLimit)
                .description("Permits per period, or calls in flight, that are allowed now"));
        register.accept(Gauge.builder(IN_FLIGHT, limiter, AdaptiveLimiter::inFlight)
                .description("Calls that were sent and have not ended"));
        register.accept(Gauge.builder(BASELINE_LATENCY, limiter, shown -> seconds(shown.baselineLatency()))
                .description("Latency of calls to an idle downstream")
                .baseUnit("seconds"));
        register.accept(Gauge.builder(SINCE_OVERLOAD, limiter, shown -> seconds(shown.sinceLastOverload()))
                .description("Time since the last sign of overload")
                .baseUnit("seconds"));
    }

    private static double seconds(Optional<Duration> duration) {
        return duration.map(each -> each.toNanos() / NANOS_PER_SECOND).orElse(Double.NaN);
    }
}

package io.github.reactorratelimit.micrometer;

import static io.github.reactorratelimit.micrometer.RateLimitMeter.*;

import io.github.reactorratelimit.RateLimitRecorder;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;

/**
 * Counts a limiter's decisions, waits and refunds in a Micrometer registry, under the names and tags of {@link RateLimitMeter}.
 *
 * <pre>{@code
 * RateLimiter.builder(policy).name("orders").recorder(MicrometerRecorder.create(registry, "orders")).build();
 * }</pre>
 *
 * <p>All meters are registered from the start, at zero. Recorders of the same name in the same registry count together.
 */
public final class MicrometerRecorder implements RateLimitRecorder {

    private static final double NANOS_PER_SECOND = 1e9;

    /** A registry keeps the first gauge of a name and tags, so recorders that have them in common share its values. */
    private static final Map<MeterRegistry, Map<String, Gauges>> GAUGES =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** The values of the gauges. */
    private static final class Gauges {
        private final LongAdder waiters = new LongAdder();
        private volatile double clockAhead = Double.NaN;
        private volatile double clockError = Double.NaN;
    }

    private final MeterRegistry registry;
    private final Tags tags;
    private final Gauges gauges;
    private final Counter allowed;
    private final Counter denied;
    private final Counter permitsTaken;
    private final Timer lateness;
    private final Map<WaitOutcome, Timer> waits = new EnumMap<>(WaitOutcome.class);

    /** Counters of events; an event may have one in each map. */
    private final Map<Event, Counter> times = new EnumMap<>(Event.class);

    /** Counters of the permits of events. */
    private final Map<Event, Counter> permits = new EnumMap<>(Event.class);

    private MicrometerRecorder(MeterRegistry registry, String limiter) {
        this.registry = registry;
        this.tags = Tags.of(LIMITER, limiter);
        this.gauges = GAUGES.computeIfAbsent(registry, key -> new ConcurrentHashMap<>())
                .computeIfAbsent(limiter, key -> new Gauges());
        gauge(WAITERS, shown -> shown.waiters.sum());
        gauge(CLOCK_AHEAD, shown -> shown.clockAhead);
        gauge(CLOCK_ERROR, shown -> shown.clockError);
        this.allowed = counter(DECISIONS, "outcome", "allowed");
        this.denied = counter(DECISIONS, "outcome", "denied");
        this.permitsTaken = counter(PERMITS_TAKEN);
        this.lateness = timer(LATENESS);
        for (WaitOutcome outcome : WaitOutcome.values()) {
            waits.put(outcome, timer(WAITS, "outcome", outcome.name().toLowerCase(Locale.ROOT)));
        }
        for (Event event : Event.values()) {
            register(event);
        }
    }

    /**
     * A recorder for one limiter, or for several that count together.
     *
     * @param registry where the meters are
     * @param limiter the value of the tag {@code limiter}: the limiter's name
     * @throws IllegalArgumentException if the name is blank
     */
    public static MicrometerRecorder create(MeterRegistry registry, String limiter) {
        Objects.requireNonNull(registry, "registry");
        if (Objects.requireNonNull(limiter, "limiter").isBlank()) {
            throw new IllegalArgumentException("limiter must not be blank");
        }
        return new MicrometerRecorder(registry, limiter);
    }

    private void register(Event event) {
        switch (event) {
            case REFUNDED -> permits.put(event, counter(PERMITS_REFUNDED));
            case REFUND_LOST, CHARGE_LOST -> permits.put(event, counter(PERMITS_LOST));
            case RESERVED -> times.put(event, counter(RESERVATIONS, "outcome", "reserved"));
            case SETTLED -> {
                times.put(event, counter(RESERVATIONS, "outcome", "settled"));
                permits.put(event, counter(PERMITS_SETTLED));
            }
            case UNCHARGED -> permits.put(event, counter(PERMITS_UNCHARGED));
            case LEASE_LOST -> permits.put(event, counter(LEASES_LOST));
            case PREPAID_EXPIRED -> permits.put(event, counter(PREPAID_STRANDED, "outcome", "expired"));
            case PREPAID_LOST -> permits.put(event, counter(PREPAID_STRANDED, "outcome", "lost"));
            case PREPAID_UNANSWERED -> permits.put(event, counter(PREPAID_STRANDED, "outcome", "unanswered"));
            case SHADOW_ALLOWED -> times.put(event, counter(SHADOW_DECISIONS, "outcome", "allowed"));
            case SHADOW_DENIED -> times.put(event, counter(SHADOW_DECISIONS, "outcome", "denied"));
            case SHADOW_FAILED -> times.put(event, counter(SHADOW_FAILURES));
            case STORE_FAILED -> times.put(event, counter(STORE_FAILURES));
            case DEGRADED_OPEN -> times.put(event, counter(DEGRADED, "mode", "open"));
            case DEGRADED_CLOSED -> times.put(event, counter(DEGRADED, "mode", "closed"));
            case DEGRADED_LOCAL -> times.put(event, counter(DEGRADED, "mode", "local"));
        }
    }

    private void gauge(RateLimitMeter meter, ToDoubleFunction<Gauges> value) {
        if (registry.find(meter.meterName()).tags(tags).gauge() == null) {
            Gauge.builder(meter.meterName(), gauges, value)
                    .description(meter.description())
                    .baseUnit(meter == WAITERS ? null : "seconds")
                    .tags(tags)
                    .strongReference(true)
                    .register(registry);
        }
    }

    private Counter counter(RateLimitMeter meter, String... tag) {
        return Counter.builder(meter.meterName())
                .description(meter.description())
                .tags(tags.and(tag))
                .register(registry);
    }

    private Timer timer(RateLimitMeter meter, String... tag) {
        return Timer.builder(meter.meterName())
                .description(meter.description())
                .tags(tags.and(tag))
                .register(registry);
    }

    @Override
    public void decided(boolean allowed, long permits) {
        if (allowed) {
            this.allowed.increment();
            permitsTaken.increment((double) permits);
        } else {
            denied.increment();
        }
    }

    @Override
    public void queueChanged(int change) {
        gauges.waiters.add(change);
    }

    @Override
    public void waited(WaitOutcome outcome, long waitedNanos) {
        Objects.requireNonNull(waits.get(outcome), "outcome").record(waitedNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void deliveredLate(long lateNanos) {
        lateness.record(lateNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void counted(Event event, long permits) {
        Counter ofEvent = times.get(event);
        if (ofEvent != null) {
            ofEvent.increment();
        }
        Counter ofPermits = this.permits.get(event);
        if (ofPermits != null) {
            ofPermits.increment((double) permits);
        }
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        gauges.clockAhead = aheadNanos / NANOS_PER_SECOND;
        gauges.clockError = errorNanos / NANOS_PER_SECOND;
    }
}

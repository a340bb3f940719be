package io.github.reactorratelimit.micrometer;

import static io.github.reactorratelimit.micrometer.RateLimitMeter.AUDITED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.CLOCK_AHEAD;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.CLOCK_ERROR;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.DECISIONS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.DEGRADED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.LATENESS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.LEASES_LOST;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.LEASES_STRANDED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.PERMITS_LOST;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.PERMITS_REFUNDED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.PERMITS_SETTLED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.PERMITS_TAKEN;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.PERMITS_UNCHARGED;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.RESERVATIONS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.SHADOW_DECISIONS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.SHADOW_FAILURES;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.WAITERS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.WAITS;

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
 * Counts a limiter's decisions, waits and refunds in a Micrometer registry, under the names and tags of
 * {@link RateLimitMeter}.
 *
 * <pre>{@code
 * RateLimiter.builder(policy).name("orders").recorder(MicrometerRecorder.create(registry, "orders")).build();
 * }</pre>
 *
 * <p>All meters are there from the start, at zero. Recorders of the same name in the same registry count
 * together.
 */
public final class MicrometerRecorder implements RateLimitRecorder {

    private static final double NANOS_PER_SECOND = 1e9;

    /** A registry keeps the first gauge of a name and tags, so recorders that share them must share what it shows. */
    private static final Map<MeterRegistry, Map<String, Shown>> SHOWN_OF =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** What gauges show. */
    private static final class Shown {
        private final LongAdder waiters = new LongAdder();
        private volatile double clockAhead = Double.NaN;
        private volatile double clockError = Double.NaN;
    }

    private final Counter allowed;
    private final Counter denied;
    private final Counter permitsTaken;
    private final Counter permitsRefunded;
    private final Counter reserved;
    private final Counter settled;
    private final Counter permitsSettled;
    private final Counter permitsUncharged;
    private final Counter permitsLost;
    private final Counter shadowAllowed;
    private final Counter shadowDenied;
    private final Counter shadowFailures;
    private final Counter leasesLost;
    private final Counter auditedGranted;
    private final Counter auditedOver;
    private final Counter auditedDenied;
    private final Counter auditedUnder;
    private final Timer lateness;
    private final Shown shown;
    private final Map<Stranding, Counter> stranded = new EnumMap<>(Stranding.class);
    private final Map<WaitOutcome, Timer> waits = new EnumMap<>(WaitOutcome.class);
    private final Map<Degradation, Counter> degraded = new EnumMap<>(Degradation.class);

    private MicrometerRecorder(MeterRegistry registry, String limiter) {
        Tags tags = Tags.of(RateLimitMeter.Tag.LIMITER.key(), limiter);
        this.allowed = counter(registry, DECISIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "allowed"));
        this.denied = counter(registry, DECISIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "denied"));
        this.permitsTaken = counter(registry, PERMITS_TAKEN, tags);
        this.permitsRefunded = counter(registry, PERMITS_REFUNDED, tags);
        this.reserved = counter(registry, RESERVATIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "reserved"));
        this.settled = counter(registry, RESERVATIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "settled"));
        this.permitsSettled = counter(registry, PERMITS_SETTLED, tags);
        this.permitsUncharged = counter(registry, PERMITS_UNCHARGED, tags);
        this.permitsLost = counter(registry, PERMITS_LOST, tags);
        this.shadowAllowed = counter(registry, SHADOW_DECISIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "allowed"));
        this.shadowDenied = counter(registry, SHADOW_DECISIONS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "denied"));
        this.shadowFailures = counter(registry, SHADOW_FAILURES, tags);
        this.leasesLost = counter(registry, LEASES_LOST, tags);
        this.auditedGranted = counter(registry, AUDITED, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "granted"));
        this.auditedOver = counter(registry, AUDITED, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "over"));
        this.auditedDenied = counter(registry, AUDITED, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "denied"));
        this.auditedUnder = counter(registry, AUDITED, tags.and(RateLimitMeter.Tag.OUTCOME.key(), "under"));
        this.lateness = timer(registry, LATENESS, tags);
        this.shown = SHOWN_OF.computeIfAbsent(registry, key -> new ConcurrentHashMap<>())
                .computeIfAbsent(limiter, key -> new Shown());
        gauge(registry, WAITERS, tags, gauged -> gauged.waiters.sum());
        gauge(registry, CLOCK_AHEAD, tags, gauged -> gauged.clockAhead);
        gauge(registry, CLOCK_ERROR, tags, gauged -> gauged.clockError);
        for (Stranding how : Stranding.values()) {
            stranded.put(
                    how, counter(registry, LEASES_STRANDED, tags.and(RateLimitMeter.Tag.OUTCOME.key(), valueOf(how))));
        }
        for (WaitOutcome outcome : WaitOutcome.values()) {
            waits.put(outcome, timer(registry, WAITS, tags.and(RateLimitMeter.Tag.OUTCOME.key(), valueOf(outcome))));
        }
        for (Degradation mode : Degradation.values()) {
            degraded.put(mode, counter(registry, DEGRADED, tags.and(RateLimitMeter.Tag.MODE.key(), valueOf(mode))));
        }
    }

    /**
     * A recorder for one limiter, or for several that shall count together.
     *
     * @param registry where the meters are
     * @param limiter the value of the tag {@code limiter}: the name the limiter has
     * @throws IllegalArgumentException if the name is blank
     */
    public static MicrometerRecorder create(MeterRegistry registry, String limiter) {
        Objects.requireNonNull(registry, "registry");
        if (Objects.requireNonNull(limiter, "limiter").isBlank()) {
            throw new IllegalArgumentException("limiter must not be blank");
        }
        return new MicrometerRecorder(registry, limiter);
    }

    private void gauge(MeterRegistry registry, RateLimitMeter meter, Tags tags, ToDoubleFunction<Shown> value) {
        if (registry.find(meter.meterName()).tags(tags).gauge() == null) {
            Gauge.builder(meter.meterName(), shown, value)
                    .description(meter.description())
                    .baseUnit(meter == WAITERS ? null : "seconds")
                    .tags(tags)
                    .strongReference(true)
                    .register(registry);
        }
    }

    private static Counter counter(MeterRegistry registry, RateLimitMeter meter, Tags tags) {
        return Counter.builder(meter.meterName())
                .description(meter.description())
                .tags(tags)
                .register(registry);
    }

    private static Timer timer(MeterRegistry registry, RateLimitMeter meter, Tags tags) {
        return Timer.builder(meter.meterName())
                .description(meter.description())
                .tags(tags)
                .register(registry);
    }

    private static String valueOf(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
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
    public void waitStarted() {
        shown.waiters.increment();
    }

    @Override
    public void waitEnded(WaitOutcome outcome, long waitedNanos) {
        shown.waiters.decrement();
        Objects.requireNonNull(waits.get(outcome), "outcome").record(waitedNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void refunded(long permits) {
        permitsRefunded.increment((double) permits);
    }

    @Override
    public void reserved(long permits) {
        reserved.increment();
    }

    @Override
    public void settled(long reserved, long actual) {
        settled.increment();
        permitsSettled.increment((double) actual);
    }

    @Override
    public void uncharged(long permits) {
        permitsUncharged.increment((double) permits);
    }

    @Override
    public void refundLost(long permits) {
        permitsLost.increment((double) permits);
    }

    @Override
    public void chargeLost(long permits) {
        permitsLost.increment((double) permits);
    }

    @Override
    public void shadowDecided(boolean allowed, long permits) {
        (allowed ? shadowAllowed : shadowDenied).increment();
    }

    @Override
    public void shadowFailed() {
        shadowFailures.increment();
    }

    @Override
    public void leaseLost(long permits) {
        leasesLost.increment((double) permits);
    }

    @Override
    public void toldLate(long lateNanos) {
        lateness.record(lateNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void clockRead(long aheadNanos, long errorNanos) {
        shown.clockAhead = aheadNanos / NANOS_PER_SECOND;
        shown.clockError = errorNanos / NANOS_PER_SECOND;
    }

    @Override
    public void leaseStranded(Stranding how, long permits) {
        Objects.requireNonNull(stranded.get(how), "how").increment((double) permits);
    }

    @Override
    public void grantAudited(long permits, long excess) {
        auditedGranted.increment((double) (permits - excess));
        auditedOver.increment((double) excess);
    }

    @Override
    public void denialAudited(long permits, boolean wrong) {
        (wrong ? auditedUnder : auditedDenied).increment((double) permits);
    }

    @Override
    public void degraded(Degradation degradation) {
        Objects.requireNonNull(degraded.get(degradation), "degradation").increment();
    }
}

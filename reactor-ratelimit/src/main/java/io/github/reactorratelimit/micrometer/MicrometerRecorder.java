package io.github.reactorratelimit.micrometer;

import static io.github.reactorratelimit.micrometer.RateLimitMeter.DECISIONS;
import static io.github.reactorratelimit.micrometer.RateLimitMeter.DEGRADED;
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

    /** A registry keeps the first gauge of a name and tags, so recorders that share them must share its count. */
    private static final Map<MeterRegistry, Map<String, LongAdder>> WAITERS_OF =
            Collections.synchronizedMap(new WeakHashMap<>());

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
    private final LongAdder waiters;
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
        this.waiters = WAITERS_OF
                .computeIfAbsent(registry, key -> new ConcurrentHashMap<>())
                .computeIfAbsent(limiter, key -> new LongAdder());
        registerWaiters(registry, tags);
        for (WaitOutcome outcome : WaitOutcome.values()) {
            Timer timer = Timer.builder(WAITS.meterName())
                    .description(WAITS.description())
                    .tags(tags.and(RateLimitMeter.Tag.OUTCOME.key(), valueOf(outcome)))
                    .register(registry);
            waits.put(outcome, timer);
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

    private void registerWaiters(MeterRegistry registry, Tags tags) {
        if (registry.find(WAITERS.meterName()).tags(tags).gauge() == null) {
            Gauge.builder(WAITERS.meterName(), waiters, LongAdder::sum)
                    .description(WAITERS.description())
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
        waiters.increment();
    }

    @Override
    public void waitEnded(WaitOutcome outcome, long waitedNanos) {
        waiters.decrement();
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
    public void degraded(Degradation degradation) {
        Objects.requireNonNull(degraded.get(degradation), "degradation").increment();
    }
}

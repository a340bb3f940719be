package io.github.reactorratelimit.adaptive;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Limits calls to one downstream by what it turns out to bear. Make one for each downstream and share it between all calls to it.
 *
 * <pre>{@code
 * AdaptiveLimiter exchange = AdaptiveLimiter.of(AdaptiveRate.aimd(5, 500, Duration.ofSeconds(1)));
 * Mono<Quote> quote = quotes.fetch("ACME").transform(exchange.limitCalls());
 * }</pre>
 *
 * <p>The limit is that of this process, and its state lives here. Instances that share a limit in Redis each have one beneath it: two operators,
 * this one next to the call. An adaptive limit is never written into a shared policy, where the decreases of all instances would add up.
 *
 * <p>Put it next to the call: what lies between them, such as another limiter, is part of the latency that is measured. A {@code timeout} belongs
 * between them, because who cancels a call does not say why.
 */
public final class AdaptiveLimiter implements Disposable {

    private static final String KEY = "downstream";
    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);

    private final AdaptivePolicy policy;
    private final RateLimiter limiter;
    private final Observer observer;

    AdaptiveLimiter(AdaptivePolicy policy, RateLimiterBuilder limiter, Outcomes outcomes, Scheduler clock) {
        this.policy = policy;
        this.limiter = limiter.build();
        this.observer = new Observer(policy, outcomes, clock, this::apply);
    }

    /** With all defaults. */
    public static AdaptiveLimiter of(AdaptivePolicy policy) {
        return builder(policy).build();
    }

    /** Starts building one. */
    public static AdaptiveLimiterBuilder builder(AdaptivePolicy policy) {
        return new AdaptiveLimiterBuilder(policy);
    }

    private void apply(long limit) {
        limiter.changePolicy(policy.at(limit))
                .onErrorComplete(RateLimiterClosedException.class)
                .subscribe();
    }

    /**
     * Each subscription is a call: it waits for its turn, however long that takes, and is measured. A Mono yields a Mono, anything else a Flux, whose
     * latency is that of its first element. Works with {@code transform} and {@code transformDeferred}; a call that is tried again asks again.
     */
    public <T> UnaryOperator<Publisher<T>> limitCalls() {
        return limitCalls(UNBOUNDED);
    }

    /**
     * Like {@link #limitCalls()}; a call that would wait longer than {@code maxWait} is denied with {@link RateLimitExceededException}, and was
     * not sent. Zero never waits.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public <T> UnaryOperator<Publisher<T>> limitCalls(Duration maxWait) {
        UnaryOperator<Publisher<T>> limited = limitRate(
                limiter,
                spec -> spec.key(KEY)
                        .maxWait(Objects.requireNonNull(maxWait, "maxWait"))
                        .perSubscription());
        return source -> limited.apply(measured(source));
    }

    private <T> Publisher<T> measured(Publisher<T> source) {
        return source instanceof Mono<T> mono
                ? new MonoMeasured<>(mono, observer)
                : new FluxMeasured<>(Flux.from(source), observer);
    }

    /** The bounds, and how it learns. */
    public AdaptivePolicy policy() {
        return policy;
    }

    /** The policy in force now. */
    public RateLimitPolicy currentPolicy() {
        return policy.at(currentLimit());
    }

    /** The limit now: permits per period, or calls in flight. */
    public long currentLimit() {
        return observer.seen().limit();
    }

    /** Calls that were sent and have not ended. */
    public long inFlight() {
        return observer.seen().inFlight();
    }

    /** The lowest mean latency of a window lately; empty while there was none. */
    public Optional<Duration> baselineLatency() {
        var nanos = observer.seen().baselineNanos();
        return nanos.isPresent() ? Optional.of(Duration.ofNanos(nanos.getAsLong())) : Optional.empty();
    }

    /** How long ago the last sign of overload was; empty if there was none. */
    public Optional<Duration> sinceLastOverload() {
        var at = observer.seen().lastOverloadNanos();
        return at.isPresent()
                ? Optional.of(Duration.ofNanos(Math.max(0, observer.nowNanos() - at.getAsLong())))
                : Optional.empty();
    }

    /** The name, for errors and meters. */
    public String name() {
        return limiter.name();
    }

    /** Ends every wait with {@link RateLimiterClosedException}. Calls in flight go on. */
    @Override
    public void dispose() {
        limiter.dispose();
    }

    @Override
    public boolean isDisposed() {
        return limiter.isDisposed();
    }

    @Override
    public String toString() {
        return "AdaptiveLimiter '" + name() + "' at " + currentPolicy() + ", from " + policy.floor() + " to "
                + policy.ceiling();
    }
}

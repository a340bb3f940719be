package io.github.reactorratelimit.adaptive;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Limits calls to one downstream to the load that it turns out to bear. Make one for each downstream and
 * share it between all calls to it.
 *
 * <pre>{@code
 * AdaptiveLimiter exchange = AdaptiveLimiter.of(AdaptiveRate.aimd(5, 500, Duration.ofSeconds(1)));
 * Mono<Quote> quote = quotes.fetch("ACME").transform(exchange.limitCalls());
 * }</pre>
 *
 * <p>The limit holds for this process. If instances share a limit in Redis, use two operators, with the
 * adaptive one next to the call. An adaptive limit is never written into a shared policy: the decreases of
 * all instances would add up.
 *
 * <p>Put it next to the call: anything between the two, such as another limiter, counts as latency. Put a
 * {@code timeout} between the two, because a cancelled call has no outcome.
 */
public final class AdaptiveLimiter implements Disposable {

    private static final String KEY = "downstream";
    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);

    private final AdaptivePolicy policy;
    private final RateLimiter limiter;
    private final CallObserver observer;

    AdaptiveLimiter(AdaptivePolicy policy, RateLimiterBuilder limiter, OutcomeClassifier outcomes, Scheduler clock) {
        this.policy = policy;
        this.limiter = limiter.build();
        this.observer = new CallObserver(policy, outcomes, clock, this::apply);
    }

    /** An adaptive limiter with all defaults. */
    public static AdaptiveLimiter of(AdaptivePolicy policy) {
        return builder(policy).build();
    }

    /** Starts building an adaptive limiter. */
    public static Builder builder(AdaptivePolicy policy) {
        return new Builder(policy);
    }

    private void apply(long limit) {
        limiter.changePolicy(policy.at(limit))
                .onErrorComplete(RateLimiterClosedException.class)
                .subscribe();
    }

    /**
     * Limits and measures calls. Each subscription is a call and waits for a permit, however long that takes.
     * A Mono yields a Mono, anything else a Flux, whose latency is that of its first element. Use it with
     * {@code transform} or {@code transformDeferred}; a retried call acquires again.
     */
    public <T> UnaryOperator<Publisher<T>> limitCalls() {
        return limitCalls(UNBOUNDED);
    }

    /**
     * Like {@link #limitCalls()} with a bounded wait. A call that would wait longer than {@code maxWait} is
     * not sent and fails with {@link RateLimitExceededException}. Zero never waits.
     *
     * @throws IllegalArgumentException if it is negative
     */
    public <T> UnaryOperator<Publisher<T>> limitCalls(Duration maxWait) {
        UnaryOperator<Publisher<T>> limited = limitRate(
                limiter,
                spec -> spec.key(KEY)
                        .maxWait(Objects.requireNonNull(maxWait, "maxWait"))
                        .perSubscription());
        return source -> limited.apply(observer.measured(source));
    }

    /** The bounds and the adaptation. */
    public AdaptivePolicy policy() {
        return policy;
    }

    /** The policy in effect. */
    public RateLimitPolicy currentPolicy() {
        return policy.at(currentLimit());
    }

    /** The current limit: permits per period, or calls in flight. */
    public long currentLimit() {
        return observer.snapshot().limit();
    }

    /** Calls that were sent and have not ended. */
    public long inFlight() {
        return observer.snapshot().inFlight();
    }

    /** The lowest mean latency of the recent windows; empty before the first one. */
    public Optional<Duration> baselineLatency() {
        var nanos = observer.snapshot().baselineNanos();
        return nanos.isPresent() ? Optional.of(Duration.ofNanos(nanos.getAsLong())) : Optional.empty();
    }

    /** The time since the last sign of overload; empty if there was none. */
    public Optional<Duration> sinceLastOverload() {
        var at = observer.snapshot().lastOverloadNanos();
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

    /**
     * Builds an {@link AdaptiveLimiter}. Its state is always in this process: there is no store to choose.
     */
    public static final class Builder {

        private final AdaptivePolicy policy;
        private final RateLimiterBuilder limiter;
        private OutcomeClassifier outcomes = OutcomeClassifier.defaults();
        private @Nullable Scheduler scheduler;

        Builder(AdaptivePolicy policy) {
            this.policy = Objects.requireNonNull(policy, "policy");
            this.limiter = RateLimiter.builder(policy.at(policy.initial())).name("adaptive");
        }

        /** Sets the name for errors and meters. Default: {@code "adaptive"}. */
        public Builder name(String name) {
            limiter.name(name);
            return this;
        }

        /** See {@link RateLimiterBuilder#scheduler}. */
        public Builder scheduler(Scheduler scheduler) {
            this.scheduler = Objects.requireNonNull(scheduler, "scheduler");
            limiter.scheduler(scheduler);
            return this;
        }

        /** Records every decision and wait of the limiter. */
        public Builder recorder(RateLimitRecorder recorder) {
            limiter.recorder(recorder);
            return this;
        }

        /**
         * Bounds the calls that wait; one more is denied immediately. Evenly spaced calls are also bounded by
         * the queue of a leaky bucket, 1 000.
         */
        public Builder maxWaiters(int maxWaiters) {
            limiter.maxWaiters(maxWaiters);
            return this;
        }

        /**
         * Selects the failures that mean overload; others are ignored. Default: {@link TimeoutException} and
         * {@link IOException}; add the exception with which your client reports a 429 or 503. Not called for
         * a {@link RateLimitException}, which never comes from the downstream.
         */
        public Builder overloadWhen(Predicate<? super Throwable> overload) {
            Objects.requireNonNull(overload, "overload");
            return failureOutcome(failure -> overload.test(failure) ? CallOutcome.OVERLOAD : CallOutcome.IGNORED);
        }

        /**
         * Classifies failures. One that means success, such as a 404, counts with its latency. Not called for
         * a {@link RateLimitException}. If it throws, the failure is ignored.
         */
        public Builder failureOutcome(Function<? super Throwable, CallOutcome> outcome) {
            outcomes = new OutcomeClassifier(outcome, outcomes.ofValues());
            return this;
        }

        /**
         * Classifies values, if the downstream rejects calls by a value: the value of a Mono, the first
         * element of a Flux. Default: every value is a success. If it throws, the value is ignored.
         */
        public Builder valueOutcome(Function<? super Object, CallOutcome> outcome) {
            outcomes = new OutcomeClassifier(outcomes.ofFailures(), outcome);
            return this;
        }

        /** Builds it; its clock starts now. */
        public AdaptiveLimiter build() {
            return new AdaptiveLimiter(
                    policy, limiter, outcomes, scheduler == null ? Schedulers.parallel() : scheduler);
        }
    }
}

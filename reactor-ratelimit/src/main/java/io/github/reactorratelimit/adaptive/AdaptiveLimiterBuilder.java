package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterBuilder;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Builds an {@link AdaptiveLimiter}. Its state is always in this process: there is no store to choose. */
public final class AdaptiveLimiterBuilder {

    private final AdaptivePolicy policy;
    private final RateLimiterBuilder limiter;
    private Outcomes outcomes = Outcomes.defaults();
    private @Nullable Scheduler scheduler;

    AdaptiveLimiterBuilder(AdaptivePolicy policy) {
        this.policy = Objects.requireNonNull(policy, "policy");
        this.limiter = RateLimiter.builder(policy.at(policy.initial())).name("adaptive");
    }

    /** A name for errors and meters; {@code "adaptive"} unless given. */
    public AdaptiveLimiterBuilder name(String name) {
        limiter.name(name);
        return this;
    }

    /** See {@link RateLimiterBuilder#scheduler}. */
    public AdaptiveLimiterBuilder scheduler(Scheduler scheduler) {
        this.scheduler = Objects.requireNonNull(scheduler, "scheduler");
        limiter.scheduler(scheduler);
        return this;
    }

    /** Told of every decision and wait of the limiter. */
    public AdaptiveLimiterBuilder recorder(RateLimitRecorder recorder) {
        limiter.recorder(recorder);
        return this;
    }

    /** Calls that may wait at a time; one more is denied at once. Evenly spaced calls are also bounded by the queue of a leaky bucket, 1 000. */
    public AdaptiveLimiterBuilder maxWaiters(int maxWaiters) {
        limiter.maxWaiters(maxWaiters);
        return this;
    }

    /**
     * Failures that mean overload; others are ignored. Unless given, they are {@link TimeoutException} and {@link IOException}: add the exception that
     * your client makes of a 429 or 503. Not asked for a {@link RateLimitException}, which is never the downstream's word.
     */
    public AdaptiveLimiterBuilder overloadWhen(Predicate<? super Throwable> overload) {
        Objects.requireNonNull(overload, "overload");
        return failureOutcome(failure -> overload.test(failure) ? CallOutcome.OVERLOAD : CallOutcome.IGNORED);
    }

    /**
     * What a failure says about the downstream; one that means success, such as a 404, counts with its latency. Not asked for a {@link
     * RateLimitException}. If it throws, the failure is ignored.
     */
    public AdaptiveLimiterBuilder failureOutcome(Function<? super Throwable, CallOutcome> outcome) {
        outcomes = new Outcomes(outcome, outcomes.ofValues());
        return this;
    }

    /**
     * What a value says, where refusals come as values: the value of a Mono, the first element of a Flux. Every value is a success unless this is given. If it
     * throws, the value is ignored.
     */
    public AdaptiveLimiterBuilder valueOutcome(Function<? super Object, CallOutcome> outcome) {
        outcomes = new Outcomes(outcomes.ofFailures(), outcome);
        return this;
    }

    /** Builds it; its clock starts now. */
    public AdaptiveLimiter build() {
        return new AdaptiveLimiter(policy, limiter, outcomes, scheduler == null ? Schedulers.parallel() : scheduler);
    }
}

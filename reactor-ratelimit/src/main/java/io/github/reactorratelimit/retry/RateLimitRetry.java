package io.github.reactorratelimit.retry;

import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;
import reactor.util.context.ContextView;
import reactor.util.retry.Retry;

/**
 * Tries again what failed, later each time, and never before the time that the refusal itself named.
 *
 * <pre>{@code
 * quotes.fetch(symbol)
 *         .transform(limitRate(limiter, spec -> spec.key("quotes").reject()))
 *         .retryWhen(RateLimitRetry.atMost(3).withBudget(budget));
 * }</pre>
 *
 * <p>Before the n-th retry it waits a random time between zero and {@code first * 2^(n-1)}, at most {@code max}: full
 * jitter, so that those who failed together do not come back together. If the failure says when to come back, it waits until then
 * first: a {@link RateLimitExceededException} says it by its decision, others by {@link #withRetryAfter}. If that is further away than
 * {@link #withMaxRetryAfter}, or the whole wait would pass the {@linkplain RateLimitContext#deadline deadline} in the Reactor Context, it is not tried
 * again, and nothing is taken from the budget: better to fail at once.
 *
 * <p>What is not tried again, or not any more, ends with the last failure itself, not with one about retries: so it still says what
 * went wrong and when to come back. Errors of the virtual machine are never tried again, nor is what a limiter refuses for good: because it was closed, or because more
 * permits were asked for than it ever gives at once.
 *
 * <p>Whether it does harm to do something twice is not known here: leave out with {@link #filter} what must not be repeated.
 *
 * <p>Values are immutable and can be shared; each subscription counts its own retries.
 */
public final class RateLimitRetry extends Retry {

    /** The longest wait before the first retry, unless {@link #withBackoff} says otherwise. */
    public static final Duration DEFAULT_FIRST_BACKOFF = Duration.ofMillis(100);

    /** The longest wait before any retry, unless {@link #withBackoff} says otherwise. */
    public static final Duration DEFAULT_MAX_BACKOFF = Duration.ofSeconds(10);

    /** The furthest time that a refusal may name, unless {@link #withMaxRetryAfter} says otherwise. */
    public static final Duration DEFAULT_MAX_RETRY_AFTER = Duration.ofSeconds(60);

    private final long maxRetries;
    private final Backoff backoff;
    private final Duration maxRetryAfter;
    private final @Nullable RetryBudget budget;
    private final Predicate<? super Throwable> retried;
    private final Function<? super Throwable, Optional<Duration>> named;
    private final @Nullable Scheduler scheduler;

    private RateLimitRetry(
            long maxRetries,
            Backoff backoff,
            Duration maxRetryAfter,
            @Nullable RetryBudget budget,
            Predicate<? super Throwable> retried,
            Function<? super Throwable, Optional<Duration>> named,
            @Nullable Scheduler scheduler) {
        this.maxRetries = maxRetries;
        this.backoff = backoff;
        this.maxRetryAfter = maxRetryAfter;
        this.budget = budget;
        this.retried = retried;
        this.named = named;
        this.scheduler = scheduler;
    }

    /** At most so many retries of one subscription, of whatever failure. */
    public static RateLimitRetry atMost(long maxRetries) {
        if (maxRetries < 1) {
            throw new IllegalArgumentException("maxRetries must be positive, was " + maxRetries);
        }
        LongUnaryOperator random = bound -> ThreadLocalRandom.current().nextLong(bound);
        return new RateLimitRetry(
                maxRetries,
                Backoff.of(DEFAULT_FIRST_BACKOFF, DEFAULT_MAX_BACKOFF, random),
                DEFAULT_MAX_RETRY_AFTER,
                null,
                RateLimitRetry::mayHelp,
                RateLimitRetry::namedByDecision,
                null);
    }

    private static boolean mayHelp(Throwable failure) {
        return !(failure instanceof RateLimiterClosedException || failure instanceof PermitsExceedCapacityException);
    }

    private static Optional<Duration> namedByDecision(Throwable failure) {
        return failure instanceof RateLimitExceededException denied
                ? denied.decision().retryAfter()
                : Optional.empty();
    }

    /**
     * The longest waits before retries.
     *
     * @param first before the first one; doubled each time
     * @param max never more than this
     */
    public RateLimitRetry withBackoff(Duration first, Duration max) {
        return with(Backoff.of(first, max, backoff.random()));
    }

    /** Where chance comes from: a number from 0 up to and without the given one. For tests. */
    RateLimitRetry withRandom(LongUnaryOperator random) {
        return with(backoff.with(random));
    }

    private RateLimitRetry with(Backoff other) {
        return new RateLimitRetry(maxRetries, other, maxRetryAfter, budget, retried, named, scheduler);
    }

    /** If a refusal names a time further away than this, it is not tried again. */
    public RateLimitRetry withMaxRetryAfter(Duration longest) {
        Backoff.positive("longest", longest);
        return new RateLimitRetry(maxRetries, backoff, longest, budget, retried, named, scheduler);
    }

    /** Retries only while there are some left in the budget, which all who call the same downstream should share. */
    public RateLimitRetry withBudget(RetryBudget shared) {
        Objects.requireNonNull(shared, "shared");
        return new RateLimitRetry(maxRetries, backoff, maxRetryAfter, shared, retried, named, scheduler);
    }

    /** Retries only what passes this one too. */
    public RateLimitRetry filter(Predicate<? super Throwable> alsoRetried) {
        Objects.requireNonNull(alsoRetried, "alsoRetried");
        Predicate<Throwable> both = failure -> retried.test(failure) && alsoRetried.test(failure);
        return new RateLimitRetry(maxRetries, backoff, maxRetryAfter, budget, both, named, scheduler);
    }

    /** When to come back, as other failures than those of a limiter say it; empty if they do not. Asked first. */
    public RateLimitRetry withRetryAfter(Function<? super Throwable, Optional<Duration>> saying) {
        Objects.requireNonNull(saying, "saying");
        Function<Throwable, Optional<Duration>> either =
                failure -> saying.apply(failure).or(() -> named.apply(failure));
        return new RateLimitRetry(maxRetries, backoff, maxRetryAfter, budget, retried, either, scheduler);
    }

    /** Where waits take place; {@link Schedulers#parallel()} unless given. */
    public RateLimitRetry withScheduler(Scheduler timer) {
        Objects.requireNonNull(timer, "timer");
        return new RateLimitRetry(maxRetries, backoff, maxRetryAfter, budget, retried, named, timer);
    }

    /** Called by {@code retryWhen}, once for each subscription. */
    @Override
    public Publisher<?> generateCompanion(Flux<RetrySignal> signals) {
        return Flux.deferContextual(context -> {
            Course course = begin(context);
            return signals.concatMap(signal -> course.delay(signal.failure(), signal.totalRetries())
                            .orElseGet(() -> Mono.error(signal.failure())))
                    .contextWrite(context)
                    .onErrorStop();
        });
    }

    /** A call begins that has no deadline; see {@link #begin(ContextView)}. */
    public Course begin() {
        return begin(Context.empty());
    }

    /**
     * A call begins. For those who have to look after what failed before it is tried again, and so cannot use {@code retryWhen}.
     *
     * @param context of the caller, for the deadline in it
     */
    public Course begin(ContextView context) {
        OptionalLong deadline = RateLimitContext.deadlineNanos(context);
        if (budget != null) {
            budget.called();
        }
        return new Course(scheduler == null ? Schedulers.parallel() : scheduler, deadline.orElse(Long.MAX_VALUE));
    }

    /** One call and its retries, one after the other. */
    public final class Course {

        private final Scheduler timer;

        /** By the clock of the timer; {@code Long.MAX_VALUE} if there is none. */
        private final long deadlineNanos;

        private long retries;

        private Course(Scheduler timer, long deadlineNanos) {
            this.timer = timer;
            this.deadlineNanos = deadlineNanos;
        }

        /**
         * What to wait for before the next attempt; empty if there shall be none. Takes a retry of the budget.
         *
         * @param failure how the last attempt ended
         */
        public Optional<Mono<Long>> afterFailure(Throwable failure) {
            Optional<Mono<Long>> delay = delay(failure, retries);
            retries++;
            return delay;
        }

        private Optional<Mono<Long>> delay(Throwable failure, long retriesBefore) {
            Exceptions.throwIfFatal(failure);
            if (retriesBefore >= maxRetries || !retried.test(failure)) {
                return Optional.empty();
            }
            Duration until =
                    named.apply(failure).filter(after -> !after.isNegative()).orElse(Duration.ZERO);
            if (until.compareTo(maxRetryAfter) > 0) {
                return Optional.empty();
            }
            Duration wait = until.plusNanos(backoff.nanos(retriesBefore));
            if (isTooLate(wait) || (budget != null && !budget.tryRetry())) {
                return Optional.empty();
            }
            return Optional.of(Mono.delay(wait, timer));
        }

        private boolean isTooLate(Duration wait) {
            return deadlineNanos != Long.MAX_VALUE && wait.toNanos() > deadlineNanos - timer.now(TimeUnit.NANOSECONDS);
        }
    }
}

package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * What the Reactor Context tells a limiter.
 *
 * <pre>{@code
 * service.call().contextWrite(RateLimitContext.deadline(Duration.ofSeconds(2)))
 * }</pre>
 */
public final class RateLimitContext {

    private static final Object DEADLINE = new Object() {
        @Override
        public String toString() {
            return "ratelimit.deadline";
        }
    };

    private static final Object CALLER = new Object() {
        @Override
        public String toString() {
            return "ratelimit.caller";
        }
    };

    private RateLimitContext() {}

    /**
     * Answers to what is asked upstream may come on {@code thread}, where a store would otherwise choose one: for callers that would go back
     * there anyway, which is one change of thread less. On Redis that is what a {@code tryAcquire} of a token bucket or GCRA is told by a call that it
     * shares with others. Whatever else comes as usual: failures, decisions made while Redis is away, what must be asked for alone, other
     * policies, {@code acquireAll} and waits; and what is known at once. So who needs the thread must look where it is.
     *
     * <p>What the thread asks so in one turn travels together: it is sent when the turn ends, or some milliseconds later by another
     * thread if the turn takes so long.
     */
    public static Function<Context, Context> answersOn(CallerThread thread) {
        Objects.requireNonNull(thread, "thread");
        return context -> context.put(CALLER, thread);
    }

    /** Where answers are wanted, null if it was not said. */
    public static @Nullable CallerThread callerThread(ContextView context) {
        return context.<@Nullable CallerThread>getOrDefault(CALLER, null);
    }

    /**
     * A deadline for every wait upstream, counted from subscription: a wait known to pass it is denied at
     * once. Of several deadlines the earliest counts. For limiters on Reactor's own schedulers.
     */
    public static Function<Context, Context> deadline(Duration fromNow) {
        return deadline(fromNow, Schedulers.parallel());
    }

    /** The same on the clock of the limiter's own {@code scheduler}. */
    public static Function<Context, Context> deadline(Duration fromNow, Scheduler scheduler) {
        Objects.requireNonNull(scheduler, "scheduler");
        long nanos = Saturated.nanos(Checks.waitTime("fromNow", fromNow));
        return context -> {
            long at = Saturated.plus(scheduler.now(TimeUnit.NANOSECONDS), nanos);
            OptionalLong outer = deadlineNanos(context);
            return context.put(DEADLINE, outer.isPresent() ? Math.min(outer.getAsLong(), at) : at);
        };
    }

    /** The deadline in nanoseconds of the scheduler's clock, if there is one. */
    public static OptionalLong deadlineNanos(ContextView context) {
        Long at = context.<Long>getOrDefault(DEADLINE, null);
        return at == null ? OptionalLong.empty() : OptionalLong.of(at);
    }
}

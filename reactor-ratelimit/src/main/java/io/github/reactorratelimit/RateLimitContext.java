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
 * What a limiter reads from the Reactor Context.
 *
 * <pre>{@code
 * service.call().contextWrite(RateLimitContext.deadline(Duration.ofSeconds(2)))
 * }</pre>
 */
public final class RateLimitContext {

    private static final String DEADLINE = "reactor-ratelimit.deadline";
    private static final String CALLER = "reactor-ratelimit.caller";

    private RateLimitContext() {}

    /**
     * Decisions of requests upstream may be delivered on {@code thread}, where a store would otherwise choose
     * one. Use it for a caller that would go back there anyway: it saves a change of thread. A store may
     * still deliver elsewhere, so a caller that needs the thread must check where it is.
     *
     * <p>Requests that the thread makes in one task travel together: they are sent when the task ends, or
     * some milliseconds later by another thread if the task takes longer.
     */
    public static Function<Context, Context> answersOn(CallerThread thread) {
        Objects.requireNonNull(thread, "thread");
        return context -> context.put(CALLER, thread);
    }

    /** The thread on which decisions are wanted; null if there is none. */
    public static @Nullable CallerThread callerThread(ContextView context) {
        return context.<@Nullable CallerThread>getOrDefault(CALLER, null);
    }

    /**
     * A deadline for every wait upstream, counted from subscription: a request that would wait past it is
     * denied immediately. Of several deadlines the earliest counts. For limiters on Reactor's own schedulers.
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

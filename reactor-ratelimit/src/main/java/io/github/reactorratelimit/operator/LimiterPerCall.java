package io.github.reactorratelimit.operator;

import java.lang.StackWalker.StackFrame;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Schedulers;
import reactor.util.Loggers;

/**
 * Warns if {@code limitRate(policy)} is probably called for each request. Each call makes a limiter, so that
 * would limit nothing. What one call costs is one look at the stack; what all cost is a fixed number of
 * cells, in which a call site may displace another.
 */
final class LimiterPerCall {

    /** Limiters of one call site within {@link #PERIOD_NANOS} that are too many to be meant. */
    private static final int MANY = 100;

    private static final long PERIOD_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int CELLS = 64;

    private static final AtomicReferenceArray<@Nullable Count> COUNTS = new AtomicReferenceArray<>(CELLS);

    private LimiterPerCall() {}

    /** Limiters made at a call site since a time; threads that meet may lose one. */
    private record Count(String site, long sinceNanos, int limiters) {

        Count next(String calledAt, long now) {
            if (!site.equals(calledAt)) {
                return new Count(calledAt, now, 1);
            }
            boolean warned = limiters >= MANY;
            long age = now - sinceNanos;
            boolean counts = warned || (age >= 0 && age <= PERIOD_NANOS);
            return counts ? new Count(site, sinceNanos, warned ? MANY + 1 : limiters + 1) : new Count(site, now, 1);
        }
    }

    /** A limiter is made for the caller of {@code entry}. */
    static void made(Class<?> entry) {
        String site = StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> isCaller(frame, entry)).findFirst())
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("");
        int cell = (site.hashCode() ^ site.hashCode() >>> 16) & CELLS - 1;
        Count before = COUNTS.get(cell);
        long now = Schedulers.parallel().now(TimeUnit.NANOSECONDS);
        Count next = before == null ? new Count(site, now, 1) : before.next(site, now);
        COUNTS.set(cell, next);
        if (next.limiters == MANY) {
            Loggers.getLogger(entry)
                    .warn("limitRate(policy) made " + MANY + " limiters within a minute at " + site
                            + ". Each call makes a"
                            + " new limiter: if that is a call per request, nothing is limited. Share one: static final"
                            + " RateLimiter LIMITER = RateLimiter.of(policy); then flux.transform(limitRate(LIMITER))");
        }
    }

    private static boolean isCaller(StackFrame frame, Class<?> entry) {
        String name = frame.getClassName();
        return !name.equals(LimiterPerCall.class.getName()) && !name.equals(entry.getName());
    }
}

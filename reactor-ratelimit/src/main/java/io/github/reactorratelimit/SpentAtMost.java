package io.github.reactorratelimit;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * The most that one key can have spent under a policy, by what was seen of it. For the audit, so whatever is uncertain is
 * decided in favour of the store: what was taken counts as of the later of the two times between which it was, and
 * whether there was room is asked as of the earlier. A thousandth is granted for rates that are rounded to the strict side.
 *
 * <p>Not thread-safe.
 */
interface SpentAtMost {

    /** Permits were taken, by {@code nowNanos}; charged ones were perhaps not there. */
    void taken(long permits, long nowNanos, boolean charged);

    /** By {@code nowNanos} everything may have been taken. */
    void anythingMayBeTaken(long nowNanos);

    /** Whether so many permits must have been there at {@code atNanos}. */
    boolean leavesRoomFor(long permits, long atNanos);

    /** Whether nothing is taken any more: as if the key had never been seen. */
    boolean isNothing(long nowNanos);

    /** Whether {@link #leavesRoomFor} can ever tell. */
    default boolean judges() {
        return true;
    }

    static SpentAtMost of(RateLimitPolicy policy, long startNanos) {
        if (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS) {
            long missing = bucket.capacity() - bucket.initialTokens();
            return new Flowing(bucket.capacity(), bucket.refill(), bucket.period(), missing, startNanos);
        } else if (policy instanceof Gcra gcra) {
            return new Flowing(gcra.burst(), gcra.permits(), gcra.period(), 0, startNanos);
        } else if (policy instanceof FixedWindow fixed) {
            return new Counted(fixed.limit(), longest(fixed), startNanos);
        } else if (policy instanceof SlidingWindowLog log) {
            return new Counted(log.limit(), log.window(), startNanos);
        } else if (policy instanceof SlidingWindowCounter counter) {
            return new Counted(counter.limit(), counter.window().multipliedBy(2), startNanos);
        } else if (policy instanceof TokenBucket stepwise) {
            long periods = (stepwise.capacity() + stepwise.refill() - 1) / stepwise.refill() + 1;
            return new Unjudged(stepwise.capacity(), stepwise.period().multipliedBy(periods), startNanos);
        } else if (policy instanceof LeakyBucket leaky) {
            double fill = leaky.queueCapacity() / (double) leaky.permits();
            Duration drained = Duration.ofNanos((long) (fill * leaky.period().toNanos()));
            return new Unjudged(leaky.queueCapacity(), drained.plus(leaky.period()), startNanos);
        }
        return new Unjudged(1, ChronoUnit.FOREVER.getDuration(), startNanos);
    }

    /** A calendar day with a clock change is longer than its nominal length. */
    private static Duration longest(FixedWindow fixed) {
        return fixed.alignment() instanceof FixedWindow.Alignment.Calendar
                ? fixed.window().plusHours(2)
                : fixed.window();
    }

    /** What flows back at a constant rate. */
    final class Flowing implements SpentAtMost {

        private static final double STRICTER = 1.001;

        private final long burst;
        private final double nanosPerPermit;
        private double owed;
        private long asOfNanos;

        Flowing(long burst, long permits, Duration period, long missing, long startNanos) {
            this.burst = burst;
            this.nanosPerPermit = STRICTER * period.toNanos() / permits;
            this.owed = missing;
            this.asOfNanos = startNanos;
        }

        private void flow(long nowNanos) {
            if (nowNanos > asOfNanos) {
                owed = Math.max(0, owed - (nowNanos - asOfNanos) / nanosPerPermit);
                asOfNanos = nowNanos;
            }
        }

        /** After a grant no more than a burst is owed, whatever was given back before. */
        @Override
        public void taken(long permits, long nowNanos, boolean charged) {
            flow(nowNanos);
            owed = charged ? owed + permits : Math.max(owed, Math.min(owed + permits, (double) burst));
        }

        @Override
        public void anythingMayBeTaken(long nowNanos) {
            taken(burst, nowNanos, false);
        }

        @Override
        public boolean leavesRoomFor(long permits, long atNanos) {
            double then = Math.max(0, owed - (atNanos - asOfNanos) / nanosPerPermit);
            return then + permits <= burst;
        }

        @Override
        public boolean isNothing(long nowNanos) {
            flow(nowNanos);
            return owed == 0;
        }
    }

    /** What can be said is only when all of it has come back. */
    final class Unjudged implements SpentAtMost {

        private final long capacity;
        private final double recoverNanos;
        private long backAtNanos;

        Unjudged(long capacity, Duration recover, long startNanos) {
            this.capacity = capacity;
            this.recoverNanos = recover.compareTo(Duration.ofDays(10_000)) > 0 ? Long.MAX_VALUE : recover.toNanos();
            this.backAtNanos = startNanos;
        }

        /** After a grant no more than the capacity is owed; a debt adds to it. */
        @Override
        public void taken(long permits, long nowNanos, boolean charged) {
            long from = charged ? Math.max(backAtNanos, nowNanos) : nowNanos;
            double wholes = charged ? permits / (double) capacity + 1 : 1;
            backAtNanos = Math.max(backAtNanos, Nanos.saturatedAdd(from, (long) (wholes * recoverNanos)));
        }

        @Override
        public void anythingMayBeTaken(long nowNanos) {
            taken(capacity, nowNanos, false);
        }

        @Override
        public boolean leavesRoomFor(long permits, long atNanos) {
            return false;
        }

        @Override
        public boolean isNothing(long nowNanos) {
            return nowNanos >= backAtNanos;
        }

        @Override
        public boolean judges() {
            return false;
        }
    }

    /** What was taken within the length of a window, wherever that begins: this one and the one before are counted whole. */
    final class Counted implements SpentAtMost {

        private static final long STRICTER_SHARE = 1_000;

        private final long limit;
        private final long windowNanos;
        private long startNanos;
        private long before;
        private long current;

        /** Until when a debt may be paid off: it outlives its window. */
        private long owesUntilNanos;

        Counted(long limit, Duration window, long startNanos) {
            this.limit = limit;
            this.windowNanos = window.toNanos() + window.toNanos() / STRICTER_SHARE + 1;
            this.startNanos = startNanos;
            this.owesUntilNanos = startNanos;
        }

        private void turn(long nowNanos) {
            long since = nowNanos - startNanos;
            if (since >= windowNanos) {
                before = since < 2 * windowNanos ? current : 0;
                current = 0;
                startNanos += since / windowNanos * windowNanos;
            }
        }

        @Override
        public void taken(long permits, long nowNanos, boolean charged) {
            turn(nowNanos);
            current = Nanos.saturatedAdd(current, permits);
            if (charged) {
                double longest = (permits / (double) limit + 2) * windowNanos;
                owesUntilNanos = Nanos.saturatedAdd(Math.max(owesUntilNanos, nowNanos), (long) longest);
            }
        }

        @Override
        public void anythingMayBeTaken(long nowNanos) {
            taken(limit, nowNanos, false);
        }

        /** What was taken before the window before this one is forgotten, and may have mattered at an earlier time. */
        @Override
        public boolean leavesRoomFor(long permits, long atNanos) {
            turn(atNanos);
            return atNanos >= Math.max(startNanos, owesUntilNanos)
                    && Nanos.saturatedAdd(before, current) <= limit - permits;
        }

        @Override
        public boolean isNothing(long nowNanos) {
            turn(nowNanos);
            return before == 0 && current == 0 && nowNanos >= owesUntilNanos;
        }
    }
}

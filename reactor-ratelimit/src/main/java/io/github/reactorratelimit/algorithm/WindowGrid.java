package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.FixedWindow.Alignment;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;

/** Where windows start and end. */
interface WindowGrid {

    /**
     * Permits used in a window.
     *
     * @param start its first tick
     * @param end the first tick after it
     * @param used permits
     */
    record Window(long start, long end, long used) {}

    /** The window that {@code now} lies in, or would start, unused. */
    Window at(long now);

    static WindowGrid of(FixedWindow policy, Clock clock) {
        Alignment alignment = policy.alignment();
        if (alignment instanceof Alignment.Calendar calendar) {
            return calendar(calendar, clock);
        }
        long window = clock.tick().ticks("window", policy.window());
        return alignment instanceof Alignment.Epoch
                ? new Epoch(window, clock.epochOffset())
                : now -> new Window(now, Ticks.plus(now, window), 0);
    }

    /** Windows of one length, aligned to the epoch. */
    final class Epoch implements WindowGrid {

        final long windowTicks;
        private final long offset;

        Epoch(long windowTicks, long epochOffset) {
            this.windowTicks = windowTicks;
            this.offset = Math.floorMod(epochOffset, windowTicks);
        }

        long startOf(long now) {
            long elapsed = Math.floorMod(now, windowTicks) - (windowTicks - offset);
            return Ticks.minus(now, elapsed < 0 ? elapsed + windowTicks : elapsed);
        }

        @Override
        public Window at(long now) {
            long start = startOf(now);
            return new Window(start, Ticks.plus(start, windowTicks), 0);
        }
    }

    private static WindowGrid calendar(Alignment.Calendar calendar, Clock clock) {
        long perSecond = clock.tick().ticks("second", Duration.ofSeconds(1));
        ZoneId zone = calendar.zone();
        boolean daily = calendar.unit() == Alignment.Unit.DAY;
        return now -> {
            LocalDate day = dateOf(now, clock.epochOffset(), perSecond, zone);
            LocalDate first = daily ? day : day.withDayOfMonth(1);
            LocalDate next = daily ? day.plusDays(1) : first.plusMonths(1);
            return new Window(
                    midnight(first, zone, perSecond, clock.epochOffset()),
                    midnight(next, zone, perSecond, clock.epochOffset()),
                    0);
        };
    }

    private static LocalDate dateOf(long now, long epochOffset, long perSecond, ZoneId zone) {
        long second = Math.floorDiv(now, perSecond) + Math.floorDiv(epochOffset, perSecond);
        long carry = (Math.floorMod(now, perSecond) + Math.floorMod(epochOffset, perSecond)) / perSecond;
        return LocalDate.ofInstant(Instant.ofEpochSecond(second + carry), zone);
    }

    /** The start of a day in its zone, also where midnight does not exist; saturated. */
    private static long midnight(LocalDate day, ZoneId zone, long perSecond, long epochOffset) {
        ZonedDateTime start = day.atStartOfDay(zone);
        BigInteger ticks = BigInteger.valueOf(start.toEpochSecond())
                .multiply(BigInteger.valueOf(perSecond))
                .subtract(BigInteger.valueOf(epochOffset));
        if (ticks.bitLength() < Long.SIZE) {
            return ticks.longValue();
        }
        return ticks.signum() < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
}

package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.FixedWindow.Alignment;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;

/**
 * Windows that start with the days or months of a zone. A day is as long as its zone makes it. Where a clock
 * change repeats the minutes around midnight, the new day starts the first time and stays.
 */
public record CalendarWindows(Alignment.Calendar calendar, long epochOffset, long ticksPerSecond)
        implements WindowGrid {

    /** The windows of a calendar. */
    public static CalendarWindows of(Alignment.Calendar calendar, Tick tick, long epochOffset) {
        return new CalendarWindows(calendar, epochOffset, tick.ticks("second", Duration.ofSeconds(1)));
    }

    /**
     * The window of {@code now}, the one before and the one after, for a twin in another language that knows
     * no calendar: four times, each the end of one window and the start of the next.
     */
    public long[] around(long now) {
        Window current = at(now);
        return new long[] {
            at(current.start() - 1).start(),
            current.start(),
            current.end(),
            at(current.end()).end()
        };
    }

    @Override
    public Window at(long now) {
        LocalDate first = firstDay(dateOf(now));
        long end = startOf(next(first));
        while (end <= now && end < Long.MAX_VALUE) {
            first = next(first);
            end = startOf(next(first));
        }
        return new Window(startOf(first), end);
    }

    private LocalDate firstDay(LocalDate day) {
        return isDaily() ? day : day.withDayOfMonth(1);
    }

    private LocalDate next(LocalDate first) {
        return isDaily() ? first.plusDays(1) : first.plusMonths(1);
    }

    private boolean isDaily() {
        return calendar.unit() == Alignment.Unit.DAY;
    }

    private LocalDate dateOf(long now) {
        long seconds = Math.floorDiv(now, ticksPerSecond) + Math.floorDiv(epochOffset, ticksPerSecond);
        long rest = Math.floorMod(now, ticksPerSecond) + Math.floorMod(epochOffset, ticksPerSecond);
        return LocalDate.ofInstant(Instant.ofEpochSecond(seconds + rest / ticksPerSecond), calendar.zone());
    }

    private long startOf(LocalDate day) {
        BigInteger ticks = BigInteger.valueOf(day.atStartOfDay(calendar.zone()).toEpochSecond())
                .multiply(BigInteger.valueOf(ticksPerSecond))
                .subtract(BigInteger.valueOf(epochOffset));
        if (ticks.bitLength() < Long.SIZE) {
            return ticks.longValue();
        }
        return ticks.signum() < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
}

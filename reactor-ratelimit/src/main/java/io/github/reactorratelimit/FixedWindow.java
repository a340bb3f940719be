package io.github.reactorratelimit;

import java.time.Duration;
import java.time.ZoneId;
import java.util.Objects;

/**
 * At most {@code limit} permits in each window; a new window starts from nothing.
 *
 * <pre>{@code
 * FixedWindow.of(1_000, Duration.ofMinutes(1))          // 1 000 in each minute
 * FixedWindow.daily(10_000, ZoneId.of("Europe/Rome"))   // 10 000 in each calendar day
 * }</pre>
 *
 * <p>Worst case in any half-open window of the same length: {@code 2 * limit}, when the end of one
 * window and the start of the next are both used up. Calendar windows differ in length (a month, a
 * day with a clock change).
 *
 * @param limit permits per window
 * @param window length of the window; for calendar windows the nominal length (1 or 31 days)
 * @param alignment where windows start
 */
public record FixedWindow(long limit, Duration window, Alignment alignment) implements RateLimitPolicy {

    /** Where windows start. */
    public sealed interface Alignment {

        /** At whole multiples of the window since 1970-01-01T00:00Z: the same windows on every machine. */
        record Epoch() implements Alignment {}

        /** With the first request after the last window ended: each key has its own windows. */
        record FirstRequest() implements Alignment {}

        /**
         * With the calendar days or months of a zone.
         *
         * @param unit day or month
         * @param zone whose midnight counts
         */
        record Calendar(Unit unit, ZoneId zone) implements Alignment {
            public Calendar {
                Objects.requireNonNull(unit, "unit");
                Objects.requireNonNull(zone, "zone");
            }
        }

        /** The unit of a calendar window. */
        enum Unit {
            DAY,
            MONTH
        }
    }

    public FixedWindow {
        Checks.permits("limit", limit);
        Checks.period("window", window);
        Objects.requireNonNull(alignment, "alignment");
        if (alignment instanceof Alignment.Calendar calendar && !window.equals(nominal(calendar.unit()))) {
            throw new IllegalArgumentException("window of a calendar " + calendar.unit() + " must be "
                    + nominal(calendar.unit()) + ", was " + window);
        }
    }

    /** {@code limit} permits per window, windows aligned to the epoch. */
    public static FixedWindow of(long limit, Duration window) {
        return new FixedWindow(limit, window, new Alignment.Epoch());
    }

    /** {@code limit} permits per calendar day in {@code zone}. */
    public static FixedWindow daily(long limit, ZoneId zone) {
        return calendar(limit, Alignment.Unit.DAY, zone);
    }

    /** {@code limit} permits per calendar month in {@code zone}. */
    public static FixedWindow monthly(long limit, ZoneId zone) {
        return calendar(limit, Alignment.Unit.MONTH, zone);
    }

    private static FixedWindow calendar(long limit, Alignment.Unit unit, ZoneId zone) {
        return new FixedWindow(limit, nominal(unit), new Alignment.Calendar(unit, zone));
    }

    private static Duration nominal(Alignment.Unit unit) {
        return Duration.ofDays(unit == Alignment.Unit.DAY ? 1 : 31);
    }

    /** The same limit, with windows that start at a key's first request. */
    public FixedWindow fromFirstRequest() {
        if (alignment instanceof Alignment.Calendar) {
            throw new IllegalArgumentException("alignment of a calendar window cannot be changed to the first request");
        }
        return new FixedWindow(limit, window, new Alignment.FirstRequest());
    }

    @Override
    public long capacity() {
        return limit;
    }

    @Override
    public FixedWindow share(int n) {
        return new FixedWindow(Checks.shareOf("limit", limit, n), window, alignment);
    }

    @Override
    public Duration period() {
        return window;
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}

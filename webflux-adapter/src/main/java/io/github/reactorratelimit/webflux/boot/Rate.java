package io.github.reactorratelimit.webflux.boot;

import java.math.BigInteger;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;

/**
 * A number of permits in a time, as people write it: {@code 100 per minute}, {@code 5 per 10 minutes}, {@code 20/s}, {@code 3 per PT1H30M}. A
 * number alone ({@code 20}) is for what is limited at one time and not per time.
 *
 * @param permits how many, at least 1
 * @param period in which time; null for a number alone
 */
public record Rate(long permits, @Nullable Duration period) {

    private static final String ALLOWED =
            "write a number and a time, such as '100 per minute', '5 per 10 minutes' or '20/s', or a number alone"
                    + " for algorithm concurrency";
    private static final BigInteger NANOS_PER_SECOND = BigInteger.valueOf(1_000_000_000);
    private static final Pattern FORM = Pattern.compile("(\\d[\\d_]*)(?:\\s*(?:/|\\bper\\b)\\s*(\\S.*))?");
    private static final Pattern SPAN = Pattern.compile("(\\d{1,9})?\\s*([a-z]+)");

    private static final Map<String, ChronoUnit> UNITS = Map.ofEntries(
            Map.entry("ms", ChronoUnit.MILLIS),
            Map.entry("millisecond", ChronoUnit.MILLIS),
            Map.entry("s", ChronoUnit.SECONDS),
            Map.entry("sec", ChronoUnit.SECONDS),
            Map.entry("second", ChronoUnit.SECONDS),
            Map.entry("m", ChronoUnit.MINUTES),
            Map.entry("min", ChronoUnit.MINUTES),
            Map.entry("minute", ChronoUnit.MINUTES),
            Map.entry("h", ChronoUnit.HOURS),
            Map.entry("hour", ChronoUnit.HOURS),
            Map.entry("d", ChronoUnit.DAYS),
            Map.entry("day", ChronoUnit.DAYS));

    public Rate {
        if (permits < 1) {
            throw new IllegalArgumentException("a limit must be at least 1, was " + permits);
        }
        if (period != null && (period.isZero() || period.isNegative())) {
            throw new IllegalArgumentException("the time of a limit must be positive, was " + period);
        }
    }

    /**
     * Reads a rate.
     *
     * @throws IllegalArgumentException if it is none, saying how one is written
     */
    public static Rate parse(String text) {
        Matcher form = FORM.matcher(Objects.requireNonNull(text, "text").strip());
        if (!form.matches()) {
            throw new IllegalArgumentException("'" + text + "' is no limit: " + ALLOWED);
        }
        String period = form.group(2);
        return new Rate(permits(text, form.group(1)), period == null ? null : period(text, period));
    }

    /** Whether it never gives less than another one with time, and sometimes more. */
    boolean isFasterThan(Rate other) {
        return inTimeOf(other).compareTo(other.inTimeOf(this)) > 0;
    }

    /** Permits times the nanoseconds of another one: what is comparable with what that says of this one. */
    private BigInteger inTimeOf(Rate other) {
        Duration time = Objects.requireNonNull(other.period, "period");
        return BigInteger.valueOf(time.getSeconds())
                .multiply(NANOS_PER_SECOND)
                .add(BigInteger.valueOf(time.getNano()))
                .multiply(BigInteger.valueOf(permits));
    }

    private static long permits(String text, String digits) {
        try {
            return Long.parseLong(digits.replace("_", ""));
        } catch (NumberFormatException tooLarge) {
            throw new IllegalArgumentException("'" + text + "' is no limit: the number is too large");
        }
    }

    private static Duration period(String text, String written) {
        Matcher span = SPAN.matcher(written.toLowerCase(Locale.ROOT));
        if (span.matches()) {
            ChronoUnit unit = unit(span.group(2));
            if (unit != null) {
                return Duration.of(span.group(1) == null ? 1 : Long.parseLong(span.group(1)), unit);
            }
        }
        try {
            return DurationStyle.ISO8601.parse(written);
        } catch (IllegalArgumentException neither) {
            // Without its cause: Boot shows the innermost message, and this one says what to write.
            throw new IllegalArgumentException("'" + text + "' is no limit: '" + written + "' is no time; " + ALLOWED);
        }
    }

    private static @Nullable ChronoUnit unit(String word) {
        ChronoUnit unit = UNITS.get(word);
        return unit == null && word.length() > 3 && word.endsWith("s")
                ? UNITS.get(word.substring(0, word.length() - 1))
                : unit;
    }

    @Override
    public String toString() {
        return period == null ? Long.toString(permits) : permits + " per " + period;
    }
}

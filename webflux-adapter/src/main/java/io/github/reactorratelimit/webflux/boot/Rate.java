package io.github.reactorratelimit.webflux.boot;

import java.time.Duration;
import java.time.Period;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAmount;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.DurationStyle;

/**
 * A number of permits in a time, as people write it: {@code 100 per minute}, {@code 5 per 10 minutes}, {@code 20/s}, {@code 3 per PT1H30M}, {@code 10000 per month}. A
 * number alone ({@code 20}) is for what is limited at one time and not per time.
 *
 * @param permits how many, at least 1
 * @param period in which time: a {@link Duration}, or a month; null for a number alone
 */
public record Rate(long permits, @Nullable TemporalAmount period) {

    private static final String ALLOWED =
            "write a number and a time, such as '100 per minute', '5 per 10 minutes' or '20/s', or a number alone"
                    + " for algorithm concurrency";
    private static final Pattern FORM = Pattern.compile("(\\d[\\d_]*)(?:\\s*(?:/|\\bper\\b)\\s*(\\S.*))?");
    private static final Pattern SPAN = Pattern.compile("(\\d{1,9})?\\s*([a-z]+)");

    /** The units with the words for them, which may be plural; as in {@link DurationStyle}, and longer ones. */
    private static final Map<ChronoUnit, Pattern> UNITS = Map.of(
            ChronoUnit.MILLIS, Pattern.compile("ms|milliseconds?"),
            ChronoUnit.SECONDS, Pattern.compile("s|secs?|seconds?"),
            ChronoUnit.MINUTES, Pattern.compile("m|mins?|minutes?"),
            ChronoUnit.HOURS, Pattern.compile("h|hours?"),
            ChronoUnit.DAYS, Pattern.compile("d|days?"),
            ChronoUnit.MONTHS, Pattern.compile("months?"));

    public Rate {
        if (permits < 1) {
            throw new IllegalArgumentException("a limit must be at least 1, was " + permits);
        }
        if (period instanceof Duration time && (time.isZero() || time.isNegative())) {
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

    private static long permits(String text, String digits) {
        try {
            return Long.parseLong(digits.replace("_", ""));
        } catch (NumberFormatException tooLarge) {
            throw new IllegalArgumentException("'" + text + "' is no limit: the number is too large");
        }
    }

    private static TemporalAmount period(String text, String written) {
        Matcher span = SPAN.matcher(written.toLowerCase(Locale.ROOT));
        ChronoUnit unit = span.matches() ? unit(span.group(2)) : null;
        if (unit == ChronoUnit.MONTHS && span.group(1) == null) {
            return Period.ofMonths(1);
        }
        if (unit != null && unit != ChronoUnit.MONTHS) {
            return Duration.of(span.group(1) == null ? 1 : Long.parseLong(span.group(1)), unit);
        }
        try {
            return DurationStyle.ISO8601.parse(written);
        } catch (IllegalArgumentException neither) {
            // Without its cause: Boot shows the innermost message, and this one says what to write.
            throw new IllegalArgumentException("'" + text + "' is no limit: '" + written + "' is no time; " + ALLOWED);
        }
    }

    private static @Nullable ChronoUnit unit(String word) {
        return UNITS.entrySet().stream()
                .filter(unit -> unit.getValue().matcher(word).matches())
                .map(Map.Entry::getKey)
                .findFirst()
                .orElse(null);
    }

    @Override
    public String toString() {
        return period == null ? Long.toString(permits) : permits + " per " + period;
    }
}

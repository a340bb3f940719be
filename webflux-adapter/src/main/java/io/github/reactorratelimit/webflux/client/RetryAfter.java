package io.github.reactorratelimit.webflux.client;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The field {@code Retry-After}: seconds, or a date. */
final class RetryAfter {

    static final String FIELD = "Retry-After";

    /** An integer of a structured field, which is enough for any time. */
    private static final Pattern DIGITS = Pattern.compile("[0-9]{1,15}");

    /** Lines that are worth reading. */
    private static final int MOST_LINES = 8;

    private RetryAfter() {}

    /**
     * What several lines say, of which there should be one: the longest time of those that can be read, zero if it has passed.
     *
     * @param time how long to wait; empty if nothing could be read
     * @param malformed whether there was a line that could not be
     */
    record Named(Optional<Duration> time, boolean malformed) {}

    /**
     * What the lines of the field say.
     *
     * @param date of the answer, by the clock that made the values too; of no effect if it is malformed
     */
    static Named of(List<String> lines, @Nullable String date, Clock clock) {
        Optional<Duration> longest = Optional.empty();
        boolean malformed = lines.size() > MOST_LINES;
        for (String line : lines.subList(0, Math.min(lines.size(), MOST_LINES))) {
            Optional<Duration> time = parse(line, date, clock);
            malformed |= time.isEmpty();
            longest = Stream.concat(longest.stream(), time.stream()).max(Comparator.naturalOrder());
        }
        return new Named(longest, malformed);
    }

    /** How long to wait; zero if the date has passed, empty if it is malformed. */
    private static Optional<Duration> parse(String value, @Nullable String date, Clock clock) {
        String text = value.trim();
        Optional<Duration> seconds = digits(text).map(Duration::ofSeconds);
        return seconds.isPresent() ? seconds : untilDate(text, date, clock);
    }

    private static Optional<Duration> untilDate(String text, @Nullable String date, Clock clock) {
        Instant now = now(date, clock);
        return HttpDates.parse(text, now).map(then -> then.isAfter(now) ? Duration.between(now, then) : Duration.ZERO);
    }

    /** The time of an answer, as it says itself: times in it are by the same clock. Else ours. */
    static Instant now(@Nullable String date, Clock clock) {
        Instant ours = clock.instant();
        return date == null ? ours : HttpDates.parse(date.trim(), ours).orElse(ours);
    }

    /** A number without sign, of at most 15 digits. */
    static Optional<Long> digits(String text) {
        return DIGITS.matcher(text).matches() ? Optional.of(Long.parseLong(text)) : Optional.empty();
    }
}

package io.github.reactorratelimit.webflux.client;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.ResolverStyle;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Dates of HTTP (RFC 9110, section 5.6.7), in the three forms that a recipient must understand. */
final class HttpDates {

    private static final int LONGEST = 40;
    private static final int YEARS_AHEAD = 50;
    private static final int YEARS_OF_TWO_DIGITS = 100;

    /** No server means an earlier one, and a date of HTTP can write no later one. */
    private static final Instant FIRST = Instant.EPOCH;

    private static final Instant LAST = Instant.parse("9999-12-31T23:59:59Z");

    private static final DateTimeFormatter FIXED = form("EEE, dd MMM uuuu HH:mm:ss 'GMT'");
    private static final DateTimeFormatter ASCTIME = form("EEE MMM ppd HH:mm:ss uuuu");

    private HttpDates() {}

    /**
     * The time that is meant; empty if it is malformed, or not in the years 1970 to 9999.
     *
     * @param now of two digits of a year, the one that is not more than 50 years ahead of this is meant
     */
    static Optional<Instant> parse(String text, Instant now) {
        if (text.length() > LONGEST) {
            return Optional.empty();
        }
        for (DateTimeFormatter form : List.of(FIXED, rfc850(now), ASCTIME)) {
            try {
                return Optional.of(LocalDateTime.parse(text, form).toInstant(ZoneOffset.UTC))
                        .filter(time -> !time.isBefore(FIRST) && !time.isAfter(LAST));
            } catch (DateTimeException otherForm) {
                // Perhaps it has the next one.
            }
        }
        return Optional.empty();
    }

    private static DateTimeFormatter rfc850(Instant now) {
        LocalDate first = LocalDate.ofInstant(now, ZoneOffset.UTC).minusYears(YEARS_OF_TWO_DIGITS - 1 - YEARS_AHEAD);
        return new DateTimeFormatterBuilder()
                .appendPattern("EEEE, dd-MMM-")
                .appendValueReduced(ChronoField.YEAR, 2, 2, first)
                .appendPattern(" HH:mm:ss 'GMT'")
                .toFormatter(Locale.US)
                .withResolverStyle(ResolverStyle.STRICT);
    }

    private static DateTimeFormatter form(String pattern) {
        return DateTimeFormatter.ofPattern(pattern, Locale.US).withResolverStyle(ResolverStyle.STRICT);
    }
}

package io.github.reactorratelimit.examples.replay;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/** A line {@code time,key}: the time in seconds or milliseconds since 1970, or as in ISO 8601. Without a key, all are one. */
final class CsvLine {

    /** In seconds that would be the year 5138, in milliseconds it is 1973. */
    private static final BigDecimal FIRST_MILLIS = new BigDecimal("1e11");

    private static final int LONGEST_TIME = 40;
    private static final int NANO_DIGITS = 9;
    private static final int MILLI_DIGITS = 6;

    private CsvLine() {}

    static @Nullable LogRecord parse(String line, LogKey key) {
        int comma = separator(line);
        String time = unquoted(comma < 0 ? line : line.substring(0, comma));
        int next = comma < 0 ? -1 : separatorAfter(line, comma + 1);
        String whose = comma < 0 ? "" : unquoted(line.substring(comma + 1, next < 0 ? line.length() : next));
        try {
            return new LogRecord(epochNanos(time), key == LogKey.ALL || whose.isEmpty() ? "all" : whose);
        } catch (DateTimeException | ArithmeticException | NumberFormatException notATime) {
            return null;
        }
    }

    /** Titles name their columns, and hold no digits. */
    static boolean isTitle(String line) {
        return separator(line) > 0 && line.chars().noneMatch(Character::isDigit);
    }

    private static int separator(String line) {
        return separatorAfter(line, 0);
    }

    /** The first comma, semicolon or tab from there on that is not within quotes. */
    private static int separatorAfter(String line, int from) {
        boolean quoted = false;
        for (int i = from; i < line.length(); i++) {
            char c = line.charAt(i);
            quoted ^= c == '"';
            if (!quoted && (c == ',' || c == ';' || c == '\t')) {
                return i;
            }
        }
        return -1;
    }

    private static String unquoted(String column) {
        String text = column.strip();
        boolean quoted = text.length() >= 2 && text.startsWith("\"") && text.endsWith("\"");
        return quoted ? text.substring(1, text.length() - 1).replace("\"\"", "\"") : text;
    }

    private static long epochNanos(String time) {
        if (time.isEmpty() || time.length() > LONGEST_TIME) {
            throw new NumberFormatException("no time");
        }
        if (time.indexOf('T') > 0) {
            Instant instant = time.endsWith("Z")
                    ? Instant.parse(time)
                    : OffsetDateTime.parse(time).toInstant();
            return Duration.between(Instant.EPOCH, instant).toNanos();
        }
        BigDecimal number = new BigDecimal(time);
        // Its exponent would be worked out digit by digit below.
        if (Math.abs((long) number.precision() - number.scale()) > LONGEST_TIME || number.scale() > LONGEST_TIME) {
            throw new NumberFormatException("no time");
        }
        int digits = number.abs().compareTo(FIRST_MILLIS) < 0 ? NANO_DIGITS : MILLI_DIGITS;
        return number.movePointRight(digits).setScale(0, RoundingMode.FLOOR).longValueExact();
    }
}

package io.github.reactorratelimit.examples.replay;

import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A line in common or combined format: {@code host ident user [10/Oct/2026:13:55:36 +0200] "GET /path HTTP/1.1" …}. Remembers
 * the last time it read, because most lines have that of the line before. Not thread-safe.
 */
final class AccessLine {

    private static final int TIME_LENGTH = "10/Oct/2026:13:55:36 +0200".length();
    private static final long NANOS_PER_SECOND = 1_000_000_000;
    private static final List<String> MONTHS =
            List.of("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec");

    private String lastTime = "";
    private long lastEpochNanos;

    @Nullable
    LogRecord parse(String line, LogKey key) {
        int bracket = line.indexOf(" [");
        int start = bracket + 2;
        if (bracket < 1 || line.length() <= start + TIME_LENGTH || line.charAt(start + TIME_LENGTH) != ']') {
            return null;
        }
        if (!line.regionMatches(start, lastTime, 0, TIME_LENGTH)) {
            try {
                lastEpochNanos = epochNanos(line, start);
                lastTime = line.substring(start, start + TIME_LENGTH);
            } catch (DateTimeException | ArithmeticException | NumberFormatException notATime) {
                return null;
            }
        }
        String whose = keyOf(line, bracket, start + TIME_LENGTH, key);
        return whose == null ? null : new LogRecord(lastEpochNanos, whose);
    }

    private static long epochNanos(String line, int at) {
        int month = MONTHS.indexOf(line.substring(at + 3, at + 6)) + 1;
        LocalDateTime local = LocalDateTime.of(
                number(line, at + 7, 4),
                month,
                number(line, at, 2),
                number(line, at + 12, 2),
                number(line, at + 15, 2),
                Math.min(59, number(line, at + 18, 2)));
        int sign = line.charAt(at + 21) == '-' ? -1 : 1;
        ZoneOffset offset = ZoneOffset.ofHoursMinutes(sign * number(line, at + 22, 2), sign * number(line, at + 24, 2));
        return Math.multiplyExact(local.toEpochSecond(offset), NANOS_PER_SECOND);
    }

    private static int number(String line, int at, int digits) {
        return Integer.parseInt(line, at, at + digits, 10);
    }

    private static @Nullable String keyOf(String line, int bracket, int afterTime, LogKey key) {
        return switch (key) {
            case ALL -> "all";
            case HOST -> before(line, line.indexOf(' '));
            case USER -> line.substring(line.lastIndexOf(' ', bracket - 1) + 1, bracket);
            case PATH -> path(line, afterTime);
        };
    }

    private static @Nullable String before(String line, int end) {
        return end < 1 ? null : line.substring(0, end);
    }

    private static @Nullable String path(String line, int afterTime) {
        int quote = line.indexOf('"', afterTime);
        int method = quote < 0 ? -1 : line.indexOf(' ', quote);
        if (method < 0) {
            return null;
        }
        int end = method + 1;
        while (end < line.length() && " ?\"".indexOf(line.charAt(end)) < 0) {
            end++;
        }
        return end == method + 1 ? null : line.substring(method + 1, end);
    }
}

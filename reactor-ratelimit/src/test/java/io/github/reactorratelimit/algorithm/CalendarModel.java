package io.github.reactorratelimit.algorithm;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;

/** Calendar windows found by looking at the date of every minute: a day starts at the first minute that has its date. */
final class CalendarModel {

    private record Day(LocalDate date, ZoneId zone) {}

    private static final Map<Day, Long> STARTS = new ConcurrentHashMap<>();

    private CalendarModel() {}

    static LongFunction<FixedWindowModel.Bounds> windows(
            boolean daily, ZoneId zone, long ticksPerSecond, long epochOffset) {
        return now -> {
            long second = Math.floorDiv(now + epochOffset, ticksPerSecond);
            LocalDate date = LocalDate.ofInstant(Instant.ofEpochSecond(second), zone);
            while (startOf(date.plusDays(1), zone) <= second) {
                date = date.plusDays(1);
            }
            LocalDate first = daily ? date : date.withDayOfMonth(1);
            LocalDate next = daily ? date.plusDays(1) : first.plusMonths(1);
            return new FixedWindowModel.Bounds(
                    startOf(first, zone) * ticksPerSecond - epochOffset,
                    startOf(next, zone) * ticksPerSecond - epochOffset);
        };
    }

    private static long startOf(LocalDate date, ZoneId zone) {
        return STARTS.computeIfAbsent(new Day(date, zone), CalendarModel::search);
    }

    private static long search(Day day) {
        long second = day.date.atStartOfDay(ZoneOffset.UTC).toEpochSecond() - 15 * 3600;
        while (LocalDate.ofInstant(Instant.ofEpochSecond(second), day.zone).isBefore(day.date)) {
            second += 60;
        }
        return second;
    }
}

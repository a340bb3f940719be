package io.github.reactorratelimit.examples.replay;

import java.time.DateTimeException;

/**
 * A request in a log.
 *
 * @param epochNanos when, since 1970; at most 146 years from then, so that no two times are too far apart for a {@code long}
 * @param key whose it was; {@code -} if that is empty, as in a log. One of more than 256 characters is cut, and ends in a hash of the whole
 */
public record LogRecord(long epochNanos, String key) {

    private static final long FURTHEST_NANOS = Long.MAX_VALUE / 2;
    private static final String NO_KEY = "-";
    private static final int LONGEST_KEY = 256;
    private static final int KEPT = 240;

    /** @throws DateTimeException if it lies more than 146 years from 1970 */
    public LogRecord {
        if (epochNanos > FURTHEST_NANOS || epochNanos < -FURTHEST_NANOS) {
            throw new DateTimeException("a time of a log must lie in the years 1824 to 2116");
        }
        key = key.isEmpty() ? NO_KEY : key.length() <= LONGEST_KEY ? key : cut(key);
    }

    boolean isWithoutKey() {
        return key.equals(NO_KEY);
    }

    private static String cut(String key) {
        return key.substring(0, KEPT) + "…" + Integer.toHexString(key.hashCode());
    }
}

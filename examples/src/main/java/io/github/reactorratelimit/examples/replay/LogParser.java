package io.github.reactorratelimit.examples.replay;

import java.time.DateTimeException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of one log: an access log in common or combined format, or a CSV whose columns are a time and a key. Which
 * of them it is, the first line that can be read tells. Lines that cannot be read are counted and left out. Not thread-safe.
 */
public final class LogParser {

    private static final int SHOWN = 80;

    private final LogKey key;
    private final AccessLine accessLine = new AccessLine();
    private @Nullable Format format;
    private long unreadable;
    private @Nullable String firstUnreadable;

    private enum Format {
        ACCESS_LOG,
        CSV
    }

    /** A parser for one log. */
    public LogParser(LogKey key) {
        this.key = key;
    }

    /** The request of a line; empty for one that cannot be read, for an empty one and for the titles of a CSV. */
    public Optional<LogRecord> parse(String line) {
        if (line.isBlank()) {
            return Optional.empty();
        }
        LogRecord record = readable(line);
        if (record == null && !(format == null && CsvLine.isTitle(line))) {
            unreadable++;
            firstUnreadable = firstUnreadable == null ? line : firstUnreadable;
        }
        return Optional.ofNullable(record);
    }

    private @Nullable LogRecord readable(String line) {
        try {
            return read(line);
        } catch (DateTimeException tooFarAway) {
            return null;
        }
    }

    private @Nullable LogRecord read(String line) {
        if (format == Format.ACCESS_LOG) {
            return accessLine.parse(line, key);
        }
        if (format == Format.CSV) {
            return CsvLine.parse(line, key);
        }
        LogRecord asAccess = accessLine.parse(line, key);
        LogRecord record = asAccess == null ? CsvLine.parse(line, key) : asAccess;
        if (record != null) {
            format = asAccess == null ? Format.CSV : Format.ACCESS_LOG;
        }
        return record;
    }

    /** Lines that were neither empty nor readable. */
    public long unreadable() {
        return unreadable;
    }

    /** What to tell somebody of whose log not a line could be read. */
    public String complaint() {
        String expected =
                "no line could be read: expected an access log in common or combined format, or a CSV of times and keys";
        String line = firstUnreadable;
        if (line == null) {
            return expected + "; it is empty";
        }
        return expected + "; the first line is: " + TerminalText.of(line, SHOWN);
    }
}

package io.github.reactorratelimit.examples.replay;

import java.io.IOException;
import java.io.Reader;
import org.jspecify.annotations.Nullable;

/** The lines of a log, however long: of one that is longer than any request can be, the beginning. Not thread-safe. */
final class LogLines {

    static final int LONGEST = 65_536;

    private final Reader reader;
    private final char[] buffer = new char[65_536];
    private final StringBuilder begun = new StringBuilder();
    private int position;
    private int end;

    LogLines(Reader reader) {
        this.reader = reader;
    }

    /** The next line, without its end; null after the last one. */
    @Nullable
    String next() throws IOException {
        begun.setLength(0);
        boolean any = false;
        while (position < end || fill()) {
            any = true;
            int from = position;
            while (position < end && buffer[position] != '\n') {
                position++;
            }
            if (position < end) {
                return line(from, position++);
            }
            keep(from, end);
        }
        return any ? line(end, end) : null;
    }

    private boolean fill() throws IOException {
        position = 0;
        end = Math.max(0, reader.read(buffer, 0, buffer.length));
        return end > 0;
    }

    private void keep(int from, int to) {
        begun.append(buffer, from, Math.min(to - from, LONGEST - begun.length()));
    }

    private String line(int from, int to) {
        if (begun.isEmpty()) {
            int length = to > from && buffer[to - 1] == '\r' ? to - from - 1 : to - from;
            return new String(buffer, from, Math.min(length, LONGEST));
        }
        keep(from, to);
        int length = begun.length();
        return begun.substring(0, begun.charAt(length - 1) == '\r' ? length - 1 : length);
    }
}

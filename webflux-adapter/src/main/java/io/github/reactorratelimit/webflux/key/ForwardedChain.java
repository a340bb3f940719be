package io.github.reactorratelimit.webflux.key;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The senders that proxies noted in a header, the latest first.
 *
 * <p>Each proxy adds an entry at the right end and leaves what it was sent as it is, so an entry is worth as much as who wrote
 * it, and only those that trusted proxies wrote are ever looked at: the reader walks from the right, and whatever a client wrote further
 * left, be it an open quote, is not even split. Several lines of the header are one list in their order.
 */
abstract class ForwardedChain {

    /** Instead of the place of a comma: the entry is too long, or has quotes that do not match. */
    static final int MALFORMED = -2;

    /** Longer than any entry a proxy writes; bounds the work that a header can cause. */
    private static final int MAX_ENTRY_CHARS = 1024;

    private final List<String> lines;

    /** The line being read, and the end of its unread part; below zero when the line has been read. */
    private int line;

    private int end = -1;

    ForwardedChain(List<String> lines) {
        this.lines = lines;
        this.line = lines.size();
    }

    /** Who sent the request to the proxy that wrote the next entry; null if there is no entry, or none that tells. */
    @Nullable
    IpAddress next() {
        if (end < 0) {
            if (line == 0) {
                return null;
            }
            line--;
            end = lines.get(line).length();
        }
        String text = lines.get(line);
        int comma = commaBefore(text, end, Math.max(0, end - MAX_ENTRY_CHARS));
        if (comma == MALFORMED) {
            return null;
        }
        String entry = text.substring(comma + 1, end).strip();
        end = comma;
        return addressIn(entry);
    }

    /** The comma before the entry that ends at {@code end}, -1 if it begins the line, {@link #MALFORMED} if it is malformed. */
    abstract int commaBefore(String text, int end, int limit);

    abstract @Nullable IpAddress addressIn(String entry);
}

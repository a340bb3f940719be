package io.github.reactorratelimit.webflux.key;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The entries of {@code X-Forwarded-For}: addresses between commas. */
final class XForwardedFor extends ForwardedChain {

    static final String HEADER = "X-Forwarded-For";

    XForwardedFor(List<String> lines) {
        super(lines);
    }

    @Override
    int commaBefore(String text, int end, int limit) {
        for (int i = end - 1; i >= limit; i--) {
            if (text.charAt(i) == ',') {
                return i;
            }
        }
        return limit == 0 ? -1 : MALFORMED;
    }

    @Override
    @Nullable
    IpAddress addressIn(String entry) {
        return NodeAddressParser.parse(entry);
    }
}

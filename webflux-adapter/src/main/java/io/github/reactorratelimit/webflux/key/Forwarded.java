package io.github.reactorratelimit.webflux.key;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The elements of {@code Forwarded} (RFC 7239): pairs between semicolons, of which {@code for} names the sender. */
final class Forwarded extends ForwardedChain {

    static final String HEADER = "Forwarded";

    Forwarded(List<String> lines) {
        super(lines);
    }

    /**
     * Commas in quotes separate nothing. Read backwards, a quote that is met first closes a string and cannot be escaped; one
     * met in a string opens it unless an odd number of backslashes stands before it.
     */
    @Override
    int commaBefore(String text, int end, int limit) {
        boolean quoted = false;
        for (int i = end - 1; i >= limit; i--) {
            char c = text.charAt(i);
            if (c == '"') {
                boolean escaped = isEscaped(text, i, limit);
                if (escaped && !quoted) {
                    return MALFORMED;
                }
                quoted = escaped || !quoted;
            } else if (c == ',' && !quoted) {
                return i;
            }
        }
        return limit == 0 && !quoted ? -1 : MALFORMED;
    }

    private static boolean isEscaped(String text, int quote, int limit) {
        int i = quote;
        while (i > limit && text.charAt(i - 1) == '\\') {
            i--;
        }
        return (quote - i) % 2 == 1;
    }

    @Override
    @Nullable
    IpAddress addressIn(String element) {
        String node = new Pairs(element).valueOfFor();
        return node == null ? null : NodeAddressParser.parse(node);
    }

    /** Reads the pairs of one element from the left. */
    private static final class Pairs {

        private final String element;
        private int at;

        Pairs(String element) {
            this.element = element;
        }

        /** The value of {@code for}; null if it is missing or there twice, or the element is malformed. */
        @Nullable
        String valueOfFor() {
            String found = null;
            for (skip(" \t;"); at < element.length(); skip(" \t;")) {
                int equals = element.indexOf('=', at);
                if (equals < 0) {
                    return null;
                }
                boolean isFor = element.substring(at, equals).equalsIgnoreCase("for");
                at = equals + 1;
                String value = value();
                skip(" \t");
                boolean ended = at == element.length() || element.charAt(at) == ';';
                if (value == null || !ended || (isFor && found != null)) {
                    return null;
                }
                found = isFor ? value : found;
            }
            return found;
        }

        private void skip(String chars) {
            while (at < element.length() && chars.indexOf(element.charAt(at)) >= 0) {
                at++;
            }
        }

        private @Nullable String value() {
            if (at < element.length() && element.charAt(at) == '"') {
                return quotedString();
            }
            int start = at;
            while (at < element.length() && " \t;\"".indexOf(element.charAt(at)) < 0) {
                at++;
            }
            return element.substring(start, at);
        }

        private @Nullable String quotedString() {
            StringBuilder value = new StringBuilder();
            for (at++; at < element.length(); at++) {
                char c = element.charAt(at);
                if (c == '"') {
                    at++;
                    return value.toString();
                }
                if (c == '\\') {
                    at++;
                }
                if (at < element.length()) {
                    value.append(element.charAt(at));
                }
            }
            return null;
        }
    }
}

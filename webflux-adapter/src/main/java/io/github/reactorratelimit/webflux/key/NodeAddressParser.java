package io.github.reactorratelimit.webflux.key;

import org.jspecify.annotations.Nullable;

/** An address as proxies write it: bare, with a port, or in brackets. The port is checked and ignored. */
final class NodeAddressParser {

    private NodeAddressParser() {}

    /** The address; null for {@code unknown}, {@code _hidden} and everything else that is none. */
    static @Nullable IpAddress parse(String node) {
        if (node.startsWith("[")) {
            return inBrackets(node);
        }
        int colon = node.indexOf(':');
        if (colon < 0 || node.indexOf(':', colon + 1) >= 0) {
            return IpAddress.parseOrNull(node);
        }
        return isPort(node, colon + 1) ? IpAddress.parseOrNull(node.substring(0, colon)) : null;
    }

    private static @Nullable IpAddress inBrackets(String node) {
        int close = node.indexOf(']');
        if (close < 0) {
            return null;
        }
        String literal = node.substring(1, close);
        int rest = close + 1;
        boolean wellFormed = literal.indexOf(':') >= 0
                && (rest == node.length() || (node.charAt(rest) == ':' && isPort(node, rest + 1)));
        return wellFormed ? IpAddress.parseOrNull(literal) : null;
    }

    /** A number, or a name that hides it: an underscore and more (RFC 7239, section 6.3). */
    private static boolean isPort(String node, int from) {
        int length = node.length() - from;
        boolean hidden = length > 1 && node.charAt(from) == '_';
        boolean valid = hidden || (length >= 1 && length <= 5);
        for (int i = hidden ? from + 1 : from; valid && i < node.length(); i++) {
            char c = node.charAt(i);
            valid = (c >= '0' && c <= '9') || (hidden && isHidingChar(c));
        }
        return valid && (hidden || Integer.parseInt(node, from, node.length(), 10) <= 0xffff);
    }

    private static boolean isHidingChar(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
    }
}

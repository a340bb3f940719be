package io.github.reactorratelimit.webflux.key;

import org.jspecify.annotations.Nullable;

/**
 * Reads IP literals and writes those of IPv6. By hand, because the JDK's parser asks a name server for what it cannot read and takes
 * {@code 1.2.3} and {@code 010.1.1.1}, and Netty is not on the class path of every WebFlux application.
 */
final class IpText {

    private static final int GROUPS = 8;
    private static final int NOT_AN_ADDRESS = -1;
    private static final int MAX_ZONE_CHARS = 64;

    private IpText() {}

    /** The address as it is written, mapped ones as IPv6; null if it is none. */
    static @Nullable IpAddress parse(String text) {
        if (text.indexOf(':') >= 0) {
            return parseIpv6(text);
        }
        long bits = ipv4Bits(text, 0, text.length());
        return bits == NOT_AN_ADDRESS ? null : IpAddress.ipv4(bits);
    }

    private static long ipv4Bits(String text, int from, int to) {
        long bits = 0;
        int start = from;
        for (int part = 0; part < 4; part++) {
            int end = part == 3 ? to : text.indexOf('.', start);
            int octet = end < 0 || end > to ? NOT_AN_ADDRESS : octet(text, start, end);
            if (octet == NOT_AN_ADDRESS) {
                return NOT_AN_ADDRESS;
            }
            bits = bits << 8 | octet;
            start = end + 1;
        }
        return bits;
    }

    private static int octet(String text, int from, int to) {
        int digits = to - from;
        if (digits < 1 || digits > 3 || (digits > 1 && text.charAt(from) == '0')) {
            return NOT_AN_ADDRESS;
        }
        int value = 0;
        for (int i = from; i < to; i++) {
            char c = text.charAt(i);
            if (c < '0' || c > '9') {
                return NOT_AN_ADDRESS;
            }
            value = value * 10 + (c - '0');
        }
        return value <= 255 ? value : NOT_AN_ADDRESS;
    }

    private static @Nullable IpAddress parseIpv6(String literal) {
        String text = withoutZone(literal);
        int gap = text.indexOf("::");
        int[] head = new int[GROUPS];
        if (gap < 0) {
            return groups(text, 0, text.length(), true, head) == GROUPS ? ofGroups(head) : null;
        }
        if (text.indexOf("::", gap + 1) >= 0) {
            return null;
        }
        int[] tail = new int[GROUPS];
        int before = groups(text, 0, gap, false, head);
        int after = groups(text, gap + 2, text.length(), true, tail);
        if (before == NOT_AN_ADDRESS || after == NOT_AN_ADDRESS || before + after >= GROUPS) {
            return null;
        }
        System.arraycopy(tail, 0, head, GROUPS - after, after);
        return ofGroups(head);
    }

    /** The address before its zone; as it is, which is no address, if the zone is malformed. */
    private static String withoutZone(String text) {
        int percent = text.indexOf('%');
        int zoneChars = text.length() - percent - 1;
        boolean zone = percent >= 0 && zoneChars >= 1 && zoneChars <= MAX_ZONE_CHARS;
        for (int i = percent + 1; zone && i < text.length(); i++) {
            char c = text.charAt(i);
            zone = isDigit(c, 36) || "-._~%".indexOf(c) >= 0;
        }
        return zone ? text.substring(0, percent) : text;
    }

    /** Reads groups between colons, the last of which may be IPv4 if the address ends there; how many, none for an empty text. */
    private static int groups(String text, int from, int to, boolean last, int[] into) {
        if (from >= to) {
            return 0;
        }
        int count = 0;
        for (int start = from; start <= to; ) {
            int colon = text.indexOf(':', start);
            int end = colon < 0 || colon > to ? to : colon;
            int read = end == to && last && text.indexOf('.', start) >= 0
                    ? embeddedIpv4(text, start, end, into, count)
                    : group(text, start, end, into, count);
            if (read == NOT_AN_ADDRESS) {
                return NOT_AN_ADDRESS;
            }
            count += read;
            start = end + 1;
        }
        return count;
    }

    private static int embeddedIpv4(String text, int from, int to, int[] into, int at) {
        long bits = ipv4Bits(text, from, to);
        if (bits == NOT_AN_ADDRESS || at > GROUPS - 2) {
            return NOT_AN_ADDRESS;
        }
        into[at] = (int) (bits >>> 16);
        into[at + 1] = (int) (bits & 0xffff);
        return 2;
    }

    private static int group(String text, int from, int to, int[] into, int at) {
        int digits = to - from;
        if (digits < 1 || digits > 4 || at >= GROUPS) {
            return NOT_AN_ADDRESS;
        }
        int value = 0;
        for (int i = from; i < to; i++) {
            if (!isDigit(text.charAt(i), 16)) {
                return NOT_AN_ADDRESS;
            }
            value = value << 4 | Character.digit(text.charAt(i), 16);
        }
        into[at] = value;
        return 1;
    }

    /** Of ASCII only: {@link Character#digit} alone takes the digits of every script. */
    private static boolean isDigit(char c, int radix) {
        return c < 0x80 && Character.digit(c, radix) >= 0;
    }

    private static IpAddress ofGroups(int[] groups) {
        long high = 0;
        long low = 0;
        for (int i = 0; i < GROUPS / 2; i++) {
            high = high << 16 | groups[i];
            low = low << 16 | groups[i + GROUPS / 2];
        }
        return IpAddress.ipv6(high, low);
    }

    /** The longest run of at least two zero groups, the first of several, is written as two colons. */
    static String ipv6(long high, long low) {
        int gapStart = -1;
        int gapLength = 1;
        for (int start = 0; start < GROUPS; start++) {
            int length = zerosFrom(high, low, start);
            if (length > gapLength) {
                gapStart = start;
                gapLength = length;
            }
        }
        StringBuilder text = new StringBuilder(39);
        for (int i = 0; i < GROUPS; i++) {
            if (i == gapStart) {
                text.append("::");
                i += gapLength - 1;
            } else {
                if (i > 0 && text.charAt(text.length() - 1) != ':') {
                    text.append(':');
                }
                text.append(Long.toHexString(groupAt(high, low, i)));
            }
        }
        return text.toString();
    }

    private static int zerosFrom(long high, long low, int start) {
        int end = start;
        while (end < GROUPS && groupAt(high, low, end) == 0) {
            end++;
        }
        return end - start;
    }

    private static long groupAt(long high, long low, int index) {
        long word = index < GROUPS / 2 ? high : low;
        return word >>> (48 - 16 * (index % (GROUPS / 2))) & 0xffff;
    }
}

package io.github.reactorratelimit.webflux.key;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * An IPv4 or IPv6 address in the one form that is compared: a mapped address ({@code ::ffff:192.0.2.1}) is the IPv4 address
 * it stands for, and a zone ({@code %eth0}) is not part of it. Reading one never asks a name server.
 */
public final class IpAddress {

    static final int IPV4_BITS = 32;
    static final int IPV6_BITS = 128;

    private static final long IPV4_MASK = 0xffff_ffffL;
    private static final long MAPPED = 0xffffL;

    private final boolean ipv4;

    /** The first 64 bits of an IPv6 address, zero for IPv4. */
    private final long high;

    /** The last 64 bits of an IPv6 address, or the 32 bits of an IPv4 address. */
    private final long low;

    private IpAddress(boolean ipv4, long high, long low) {
        this.ipv4 = ipv4;
        this.high = high;
        this.low = low;
    }

    /**
     * The address that a literal stands for. Strict: four decimal numbers without leading zeros, or the text forms of RFC 4291.
     *
     * @throws IllegalArgumentException if it is anything else, for example {@code 010.1.1.1}, {@code 1.2.3} or a host name
     */
    public static IpAddress parse(String literal) {
        return tryParse(literal)
                .orElseThrow(() -> new IllegalArgumentException("'" + literal + "' is not an IP address"));
    }

    /** The address that a literal stands for, or empty if it is none. */
    public static Optional<IpAddress> tryParse(String literal) {
        return Optional.ofNullable(parseOrNull(Objects.requireNonNull(literal, "literal")));
    }

    /** The address of a socket. */
    public static IpAddress of(InetAddress address) {
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        if (bytes.remaining() == Integer.BYTES) {
            return ipv4(bytes.getInt());
        }
        return ipv6(bytes.getLong(), bytes.getLong()).unmapped();
    }

    static @Nullable IpAddress parseOrNull(String literal) {
        IpAddress asWritten = IpText.parse(literal);
        return asWritten == null ? null : asWritten.unmapped();
    }

    static IpAddress ipv4(long bits) {
        return new IpAddress(true, 0, bits & IPV4_MASK);
    }

    static IpAddress ipv6(long high, long low) {
        return new IpAddress(false, high, low);
    }

    boolean isMapped() {
        return !ipv4 && high == 0 && low >>> IPV4_BITS == MAPPED;
    }

    IpAddress unmapped() {
        return isMapped() ? ipv4(low) : this;
    }

    /** Whether this is an IPv4 address, or was one in IPv6's clothes. */
    public boolean isIpv4() {
        return ipv4;
    }

    int bits() {
        return ipv4 ? IPV4_BITS : IPV6_BITS;
    }

    /** The address with all bits after the first {@code prefixBits} cleared. */
    IpAddress network(int prefixBits) {
        if (ipv4) {
            return ipv4(low & leading(prefixBits + IPV4_BITS));
        }
        return ipv6(high & leading(prefixBits), low & leading(prefixBits - Long.SIZE));
    }

    /** A word whose first bits are set; shifts by 64 or more, which Java takes modulo 64, are spelled out. */
    private static long leading(int bits) {
        if (bits <= 0) {
            return 0;
        }
        return bits >= Long.SIZE ? -1L : -1L << (Long.SIZE - bits);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof IpAddress that && ipv4 == that.ipv4 && high == that.high && low == that.low;
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(high) + Long.hashCode(low);
    }

    /** The canonical text: lower case and shortened as RFC 5952 says. */
    @Override
    public String toString() {
        return ipv4
                ? (low >>> 24) + "." + (low >>> 16 & 0xff) + "." + (low >>> 8 & 0xff) + "." + (low & 0xff)
                : IpText.ipv6(high, low);
    }
}

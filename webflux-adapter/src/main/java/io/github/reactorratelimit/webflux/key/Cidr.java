package io.github.reactorratelimit.webflux.key;

import java.util.Objects;

/**
 * A block of addresses, such as {@code 10.0.0.0/8} or {@code 2001:db8::/32}. A block of mapped addresses ({@code
 * ::ffff:10.0.0.0/104}) is the IPv4 block it stands for; otherwise a block holds addresses of one family only, so {@code
 * ::/0} holds no IPv4 address.
 *
 * @param network the first address of the block
 * @param prefixBits how many leading bits all addresses of the block share
 */
public record Cidr(IpAddress network, int prefixBits) {

    /**
     * @throws IllegalArgumentException if the prefix is longer than the address, or the address has bits after the prefix
     */
    public Cidr {
        Objects.requireNonNull(network, "network");
        check(network, prefixBits, network + "/" + prefixBits);
    }

    /**
     * Reads a block. A single address is the block of that address alone.
     *
     * @throws IllegalArgumentException if it is not a block, naming what is wrong with it
     */
    public static Cidr parse(String text) {
        int slash = Objects.requireNonNull(text, "text").indexOf('/');
        String literal = slash < 0 ? text : text.substring(0, slash);
        IpAddress asWritten = IpText.parse(literal);
        if (asWritten == null) {
            throw new IllegalArgumentException(
                    "'" + text + "' is not a CIDR block: '" + literal + "' is not an IP address");
        }
        int prefixBits = slash < 0 ? asWritten.bits() : prefixBits(text, text.substring(slash + 1));
        check(asWritten, prefixBits, text);
        // A mapped address has bits up to the 96th, so a shorter prefix has been refused by now.
        return asWritten.isMapped()
                ? new Cidr(asWritten.unmapped(), prefixBits - (IpAddress.IPV6_BITS - IpAddress.IPV4_BITS))
                : new Cidr(asWritten, prefixBits);
    }

    private static int prefixBits(String text, String digits) {
        if (!digits.matches("0|[1-9][0-9]{0,2}")) {
            throw new IllegalArgumentException(
                    "'" + text + "' is not a CIDR block: '" + digits + "' is not a number of bits");
        }
        return Integer.parseInt(digits);
    }

    private static void check(IpAddress address, int prefixBits, String text) {
        if (prefixBits < 0 || prefixBits > address.bits()) {
            throw new IllegalArgumentException("'" + text + "' is not a CIDR block: the prefix must be 0 to "
                    + address.bits() + " bits, was " + prefixBits);
        }
        IpAddress network = address.network(prefixBits);
        if (!network.equals(address)) {
            throw new IllegalArgumentException("'" + text + "' has bits set after its prefix: write " + network + "/"
                    + prefixBits + " for the block, or " + address + "/" + address.bits() + " for the address alone");
        }
    }

    /** Whether an address lies in the block. */
    public boolean contains(IpAddress address) {
        return address.isIpv4() == network.isIpv4()
                && address.network(prefixBits).equals(network);
    }

    /** Whether every address of the family lies in the block: rarely meant, worth a warning. */
    public boolean holdsEveryAddress() {
        return prefixBits == 0;
    }

    /** The block as it is usually written. */
    @Override
    public String toString() {
        return network + "/" + prefixBits;
    }
}

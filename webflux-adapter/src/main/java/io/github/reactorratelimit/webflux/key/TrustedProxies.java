package io.github.reactorratelimit.webflux.key;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The proxies that are trusted about a client's address: those in known networks, or a known number.
 *
 * <p>Prefer networks. A number is right only if no client can reach the application, or any proxy but the outermost,
 * without passing all proxies before it: such a client could write any address.
 */
public final class TrustedProxies {

    /** More proxies than any request passes; bounds the work that a header can cause. */
    static final int MAX_HOPS = 32;

    private static final Logger LOG = Loggers.getLogger(TrustedProxies.class);

    private final List<Cidr> networks;
    private final int hops;

    private TrustedProxies(List<Cidr> networks, int hops) {
        this.networks = networks;
        this.hops = hops;
    }

    /**
     * Proxies in these networks, for example {@code "10.0.0.0/8", "2001:db8:1::/48"}. Logs a warning if every address is
     * trusted: then a client chooses its own address.
     *
     * @throws IllegalArgumentException if there are none, or one is not a CIDR block
     */
    public static TrustedProxies in(String... networks) {
        return in(Arrays.stream(networks).map(Cidr::parse).toList());
    }

    /** Proxies in these networks; see {@link #in(String...)}. */
    public static TrustedProxies in(List<Cidr> networks) {
        if (networks.isEmpty()) {
            throw new IllegalArgumentException("networks must not be empty");
        }
        TrustedProxies proxies = new TrustedProxies(List.copyOf(networks), 0);
        if (proxies.trustEveryone()) {
            LOG.warn("Every address is a trusted proxy ({}): clients can choose the address they count for", networks);
        }
        return proxies;
    }

    /**
     * The last {@code count} senders, of which the peer of the socket is the first: 1 is one proxy in front of the application.
     *
     * @throws IllegalArgumentException if it is not 1 to 32
     */
    public static TrustedProxies hops(int count) {
        if (count < 1 || count > MAX_HOPS) {
            throw new IllegalArgumentException("count must be 1 to " + MAX_HOPS + ", was " + count);
        }
        return new TrustedProxies(List.of(), count);
    }

    /**
     * Whether an address is a trusted proxy's.
     *
     * @param hop 1 for the peer of the socket, 2 for the address that it names
     */
    boolean trusts(IpAddress address, int hop) {
        if (hop <= hops) {
            return true;
        }
        for (Cidr network : networks) {
            if (network.contains(address)) {
                return true;
            }
        }
        return false;
    }

    /** Whether one of the networks is all of IPv4 or all of IPv6. */
    public boolean trustEveryone() {
        return networks.stream().anyMatch(Cidr::holdsEveryAddress);
    }

    @Override
    public String toString() {
        return hops > 0 ? "the last " + hops + " hops" : "proxies in " + Objects.toString(networks);
    }
}

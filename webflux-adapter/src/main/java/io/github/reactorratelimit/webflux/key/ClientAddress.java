package io.github.reactorratelimit.webflux.key;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.server.ServerWebExchange;

/**
 * Finds the address of the client that sent a request.
 *
 * <pre>{@code
 * ClientAddress.ofPeer()                                              // nothing in front of the application
 * ClientAddress.fromXForwardedFor(TrustedProxies.in("10.0.0.0/8"))    // proxies in front of it
 * }</pre>
 *
 * <p>A header is believed only from trusted proxies: the walk begins at the peer of the socket and follows the header from right to
 * left, as long as the address it is at is a trusted proxy's. It ends at the first other address. Where the header ends, or has no address ({@code
 * unknown}, something malformed or longer than any proxy writes), it ends at the last address it trusted: all such requests count together.
 *
 * <p>Only one header is ever read, the one that the proxies really set: a client can send the other one through
 * unnoticed. Leave {@code server.forward-headers-strategy} at {@code none}: its {@code framework} takes the headers away before they can be
 * read here, and the walk ends at the peer.
 *
 * <p>For a limit, addresses count by network, because a client with one address of an IPv6 network has all of it. Default:
 * /64 for IPv6, the whole address for IPv4.
 */
public final class ClientAddress {

    private static final int DEFAULT_IPV4_PREFIX = 32;
    private static final int DEFAULT_IPV6_PREFIX = 64;
    private static final int MIN_IPV4_PREFIX = 8;
    private static final int MIN_IPV6_PREFIX = 16;

    /** Where the walk begins, and which header it follows. */
    private enum Source {
        PEER,
        REPORTED,
        X_FORWARDED_FOR,
        FORWARDED
    }

    private final Source source;
    private final @Nullable TrustedProxies proxies;
    private final int ipv4Prefix;
    private final int ipv6Prefix;

    private ClientAddress(Source source, @Nullable TrustedProxies proxies, int ipv4Prefix, int ipv6Prefix) {
        this.source = source;
        this.proxies = proxies;
        this.ipv4Prefix = ipv4Prefix;
        this.ipv6Prefix = ipv6Prefix;
    }

    private static ClientAddress from(Source source, @Nullable TrustedProxies proxies) {
        return new ClientAddress(source, proxies, DEFAULT_IPV4_PREFIX, DEFAULT_IPV6_PREFIX);
    }

    /** The other end of the connection; no header counts. */
    public static ClientAddress ofPeer() {
        return from(Source.PEER, null);
    }

    /**
     * The address that the server reports, {@link ServerHttpRequest#getRemoteAddress()}. Right behind the PROXY protocol, or
     * a server that checks its proxies. Wrong with {@code server.forward-headers-strategy}, which trusts every client on
     * Reactor Netty.
     */
    public static ClientAddress reportedByServer() {
        return from(Source.REPORTED, null);
    }

    /** What trusted proxies wrote into {@code X-Forwarded-For}. */
    public static ClientAddress fromXForwardedFor(TrustedProxies proxies) {
        return from(Source.X_FORWARDED_FOR, Objects.requireNonNull(proxies, "proxies"));
    }

    /** What trusted proxies wrote into {@code Forwarded} (RFC 7239). */
    public static ClientAddress fromForwarded(TrustedProxies proxies) {
        return from(Source.FORWARDED, Objects.requireNonNull(proxies, "proxies"));
    }

    /**
     * IPv4 addresses count together if their first bits are the same.
     *
     * @param bits 8 to 32; 32, the default, is the whole address
     */
    public ClientAddress withIpv4Prefix(int bits) {
        check("IPv4", bits, MIN_IPV4_PREFIX, DEFAULT_IPV4_PREFIX);
        return new ClientAddress(source, proxies, bits, ipv6Prefix);
    }

    /**
     * IPv6 addresses count together if their first bits are the same.
     *
     * @param bits 16 to 64, the default; 56 and 48 are what providers give to households and companies. More than 64 is refused:
     *     every client could choose among 2^64 addresses
     */
    public ClientAddress withIpv6Prefix(int bits) {
        check("IPv6", bits, MIN_IPV6_PREFIX, DEFAULT_IPV6_PREFIX);
        return new ClientAddress(source, proxies, ipv4Prefix, bits);
    }

    /** How many first bits of IPv4 addresses have to be the same for them to count together. */
    public int ipv4Prefix() {
        return ipv4Prefix;
    }

    /** How many first bits of IPv6 addresses have to be the same for them to count together. */
    public int ipv6Prefix() {
        return ipv6Prefix;
    }

    private static void check(String family, int bits, int min, int max) {
        if (bits < min || bits > max) {
            throw new IllegalArgumentException(family + " prefix must be " + min + " to " + max + " bits, was " + bits);
        }
    }

    /** The whole address; empty if the connection has none, such as one through a Unix domain socket. */
    public Optional<IpAddress> of(ServerWebExchange exchange) {
        return Optional.ofNullable(find(exchange.getRequest()));
    }

    /** The network that a request counts for, as text: {@code 192.0.2.1}, {@code 192.0.2.0/24}, {@code 2001:db8:1:2::/64}. */
    Optional<String> networkOf(ServerWebExchange exchange) {
        IpAddress address = find(exchange.getRequest());
        if (address == null) {
            return Optional.empty();
        }
        int prefix = address.isIpv4() ? ipv4Prefix : ipv6Prefix;
        IpAddress network = address.network(prefix);
        return Optional.of(prefix == address.bits() ? network.toString() : network + "/" + prefix);
    }

    private @Nullable IpAddress find(ServerHttpRequest request) {
        if (source == Source.REPORTED) {
            return PeerAddress.reported(request);
        }
        IpAddress peer = PeerAddress.ofConnection(request);
        return peer == null || proxies == null ? peer : behind(peer, proxies, hops(request));
    }

    private ForwardedChain hops(ServerHttpRequest request) {
        return source == Source.FORWARDED
                ? new Forwarded(lines(request, Forwarded.HEADER))
                : new XForwardedFor(lines(request, XForwardedFor.HEADER));
    }

    private static List<String> lines(ServerHttpRequest request, String header) {
        return request.getHeaders().getOrEmpty(header);
    }

    private static IpAddress behind(IpAddress peer, TrustedProxies proxies, ForwardedChain hops) {
        IpAddress sender = peer;
        for (int hop = 1; hop <= TrustedProxies.MAX_HOPS && proxies.trusts(sender, hop); hop++) {
            IpAddress before = hops.next();
            if (before == null) {
                return sender;
            }
            sender = before;
        }
        return sender;
    }

    @Override
    public String toString() {
        String where = proxies == null ? source.toString() : source + " of " + proxies;
        return "ClientAddress(" + where + ", IPv4 /" + ipv4Prefix + ", IPv6 /" + ipv6Prefix + ")";
    }
}

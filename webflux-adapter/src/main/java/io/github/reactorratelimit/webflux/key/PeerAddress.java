package io.github.reactorratelimit.webflux.key;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.util.ClassUtils;
import reactor.netty.http.server.HttpServerRequest;

/** The address of the peer that sent a request to this application. */
final class PeerAddress {

    /** WebFlux runs on other servers too: without Reactor Netty nothing here links to it. */
    private static final boolean REACTOR_NETTY =
            ClassUtils.isPresent("reactor.netty.http.server.HttpServerRequest", PeerAddress.class.getClassLoader());

    private PeerAddress() {}

    /**
     * The other end of the connection, whatever headers say; null if it has no address. {@link
     * ServerHttpRequest#getRemoteAddress} is not enough: with {@code server.forward-headers-strategy} set, or on a cloud
     * platform where Boot sets it, it is what the client wrote into a header. So is an address that was not resolved.
     */
    static @Nullable IpAddress ofConnection(ServerHttpRequest request) {
        if (REACTOR_NETTY && nativeRequest(request) instanceof HttpServerRequest netty) {
            return resolved(netty.connectionRemoteAddress());
        }
        return resolved(request.getRemoteAddress());
    }

    /** The address that the server reports, perhaps from a header or the PROXY protocol; null if it reports none. */
    static @Nullable IpAddress reported(ServerHttpRequest request) {
        InetSocketAddress remote = request.getRemoteAddress();
        if (remote == null || remote.getAddress() != null) {
            return resolved(remote);
        }
        return IpAddress.parseOrNull(remote.getHostString());
    }

    private static @Nullable IpAddress resolved(@Nullable SocketAddress remote) {
        return remote instanceof InetSocketAddress inet && inet.getAddress() != null
                ? IpAddress.of(inet.getAddress())
                : null;
    }

    private static @Nullable Object nativeRequest(ServerHttpRequest request) {
        try {
            return ServerHttpRequestDecorator.getNativeRequest(request);
        } catch (IllegalArgumentException | IllegalStateException noServer) {
            // A request made by hand or by a test has no server's request behind it.
            return null;
        }
    }
}

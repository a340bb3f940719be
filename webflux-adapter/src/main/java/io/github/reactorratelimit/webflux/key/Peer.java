package io.github.reactorratelimit.webflux.key;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.util.ClassUtils;
import reactor.netty.http.server.HttpServerRequest;

/** Who sent a request to this application. */
final class Peer {

    /** Other servers run WebFlux too; then the class that knows Reactor Netty is never loaded. */
    private static final boolean ON_REACTOR_NETTY =
            ClassUtils.isPresent("reactor.netty.http.server.HttpServerRequest", Peer.class.getClassLoader());

    private Peer() {}

    /**
     * The other end of the connection, whatever headers say; null if it has no address. {@link ServerHttpRequest#getRemoteAddress}
     * is not enough: with {@code server.forward-headers-strategy} set, or on a cloud platform where Boot sets it, it is what the client
     * wrote into a header. An address that was not resolved comes from there too, so it is none.
     */
    static @Nullable IpAddress ofConnection(ServerHttpRequest request) {
        Object nativeRequest = ON_REACTOR_NETTY ? nativeRequest(request) : null;
        return resolved(
                nativeRequest != null && ReactorNetty.made(nativeRequest)
                        ? ReactorNetty.peerOf(nativeRequest)
                        : request.getRemoteAddress());
    }

    /** What the server says, which may come from a header or the PROXY protocol; null if that is no address. */
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

    /** All that needs Reactor Netty on the class path. */
    private static final class ReactorNetty {

        static boolean made(Object request) {
            return request instanceof HttpServerRequest;
        }

        static @Nullable SocketAddress peerOf(Object request) {
            return ((HttpServerRequest) request).connectionRemoteAddress();
        }
    }
}

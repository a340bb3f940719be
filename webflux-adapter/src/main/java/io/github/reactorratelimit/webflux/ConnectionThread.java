package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.CallerThread;
import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.util.ClassUtils;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;

/**
 * Keeps a request on the event loop of its connection. A limiter that asks Redis, or lets wait, answers on another thread. To go on there
 * would be slower, as every write has to come back; and Reactor Netty up to 1.3.7 may then never again read from a connection that is kept
 * alive: the next request can come before the thread that answered the last one has ended it, and once it is answered nobody asks the
 * socket for more (reactor-netty#4347, #4361).
 *
 * <p>A request that is not on its event loop when a limiter is asked stays away from it: somebody took it elsewhere on purpose, perhaps
 * because what comes next blocks.
 */
final class ConnectionThread {

    /** Other servers run WebFlux too; then the class that knows Reactor Netty is never loaded. */
    private static final boolean REACTOR_NETTY =
            ClassUtils.isPresent("reactor.netty.Connection", ConnectionThread.class.getClassLoader());

    private ConnectionThread() {}

    /**
     * Signals what {@code answer} does, on the event loop of the request if that is where it is subscribed. Costs nothing
     * but a look at the thread if the answer comes there.
     *
     * @param exchange null if it is not at hand: then nobody knows the event loop
     */
    static <T> Mono<T> stay(@Nullable ServerWebExchange exchange, Mono<T> answer) {
        return exchange == null || !REACTOR_NETTY ? answer : new MonoStay<>(answer, () -> of(exchange));
    }

    /**
     * The same for what may come when the response has been sent: the request then no longer knows its event loop.
     *
     * @param begun the event loop of the request when it began; null if nobody knew it then
     */
    static <T> Mono<T> stay(@Nullable CallerThread begun, Mono<T> answer) {
        return begun == null ? answer : new MonoStay<>(answer, () -> begun.isCurrent() ? begun : null);
    }

    /** The event loop of the request; null if the caller is not there, or the request comes from another server. */
    static @Nullable CallerThread of(ServerWebExchange exchange) {
        return REACTOR_NETTY ? ReactorNetty.threadOf(exchange.getRequest()) : null;
    }

    /** All that needs Reactor Netty on the class path. */
    private static final class ReactorNetty {

        /** Of the event loop that runs on this thread. */
        private static final ThreadLocal<@Nullable Loop> LOOP = new ThreadLocal<>();

        static @Nullable CallerThread threadOf(ServerHttpRequest request) {
            if (!(nativeRequest(request) instanceof Connection connection)) {
                return null;
            }
            EventLoop loop = connection.channel().eventLoop();
            return loop.inEventLoop() ? here(loop) : null;
        }

        private static CallerThread here(EventLoop loop) {
            Loop known = LOOP.get();
            if (known == null || known.loop != loop) {
                known = new Loop(loop);
                LOOP.set(known);
            }
            return known;
        }

        private static @Nullable Object nativeRequest(ServerHttpRequest request) {
            try {
                return ServerHttpRequestDecorator.getNativeRequest(request);
            } catch (IllegalArgumentException | IllegalStateException madeByHand) {
                return null;
            }
        }
    }

    /** Its tasks begin when all that was found on its sockets has been worked off. */
    private record Loop(EventLoop loop) implements CallerThread {

        @Override
        public boolean isCurrent() {
            return loop.inEventLoop();
        }

        @Override
        public void execute(Runnable task) {
            loop.execute(task);
        }
    }
}

package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.CallerThread;
import io.netty.channel.EventLoop;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.util.ClassUtils;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.netty.Connection;

/**
 * The event loop of a request's connection, where the request continues after a limiter answered on another thread.
 * Writing from another thread is slower; and Reactor Netty up to 1.3.7 may then stop reading from a connection that is
 * kept alive (reactor-netty#4347, #4361).
 *
 * <p>A request that is not on its event loop when it is evaluated stays where it is: an earlier filter moved it on
 * purpose, perhaps because the next one blocks.
 */
final class EventLoopAffinity implements CallerThread {

    /** WebFlux runs on other servers too: without Reactor Netty there is no instance, and nothing here links to it. */
    private static final boolean REACTOR_NETTY =
            ClassUtils.isPresent("reactor.netty.Connection", EventLoopAffinity.class.getClassLoader());

    /** Of the event loop that runs on this thread. */
    private static final ThreadLocal<@Nullable EventLoopAffinity> CURRENT = new ThreadLocal<>();

    private final EventLoop loop;
    private final Scheduler scheduler = Schedulers.fromExecutor(this::runOrExecute);

    private EventLoopAffinity(EventLoop loop) {
        this.loop = loop;
    }

    /** The event loop of the request; null if the caller is not on it, or the request comes from another server. */
    static @Nullable EventLoopAffinity of(ServerWebExchange exchange) {
        if (!REACTOR_NETTY || !(nativeRequest(exchange.getRequest()) instanceof Connection connection)) {
            return null;
        }
        EventLoop loop = connection.channel().eventLoop();
        if (!loop.inEventLoop()) {
            return null;
        }
        EventLoopAffinity known = CURRENT.get();
        if (known == null || known.loop != loop) {
            known = new EventLoopAffinity(loop);
            CURRENT.set(known);
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

    /** Signals what the source does on the event loop of the request, if the caller is there now. */
    static <T> Mono<T> continueOn(ServerWebExchange exchange, Mono<T> source) {
        EventLoopAffinity affinity = of(exchange);
        return affinity == null ? source : source.publishOn(affinity.scheduler);
    }

    private void runOrExecute(Runnable task) {
        if (isCurrent()) {
            task.run();
        } else {
            execute(task);
        }
    }

    @Override
    public boolean isCurrent() {
        return loop.inEventLoop();
    }

    @Override
    public void execute(Runnable task) {
        loop.execute(task);
    }
}

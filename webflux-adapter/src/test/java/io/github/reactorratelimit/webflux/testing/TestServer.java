package io.github.reactorratelimit.webflux.testing;

import java.time.Duration;
import java.util.function.Consumer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.config.EnableWebFlux;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A WebFlux application on a real server and a free port of the loopback address. */
public final class TestServer implements AutoCloseable {

    private final AnnotationConfigApplicationContext context;
    private final DisposableServer server;

    private TestServer(AnnotationConfigApplicationContext context, DisposableServer server) {
        this.context = context;
        this.server = server;
    }

    /** Starts an application with the beans that {@code beans} registers. */
    public static TestServer start(Consumer<AnnotationConfigApplicationContext> beans) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.register(WebFlux.class);
        beans.accept(context);
        context.refresh();
        var handler = WebHttpHandlerBuilder.applicationContext(context).build();
        DisposableServer server = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(handler))
                .bindNow(Duration.ofMinutes(1));
        return new TestServer(context, server);
    }

    @EnableWebFlux
    static class WebFlux {}

    public int port() {
        return server.port();
    }

    /** Sends a request on a connection of its own, as it is. */
    public RawResponse send(String requestLine, String... headers) {
        return RawResponse.to(port(), requestLine, "", headers);
    }

    public RawResponse get(String target, String... headers) {
        return send("GET " + target + " HTTP/1.1", headers);
    }

    public RawResponse post(String target, String body, String... headers) {
        return RawResponse.to(port(), "POST " + target + " HTTP/1.1", body, headers);
    }

    public AnnotationConfigApplicationContext context() {
        return context;
    }

    @Override
    public void close() {
        server.disposeNow(Duration.ofMinutes(1));
        context.close();
    }
}

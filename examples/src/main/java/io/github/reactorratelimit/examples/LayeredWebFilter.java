package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.key.WebKeys;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.server.HandlerStrategies;
import org.springframework.web.reactive.function.server.RequestPredicates;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Three layers of limits before one server: by address, by user, and for all who use an expensive route. All that match must allow. */
public final class LayeredWebFilter {

    private LayeredWebFilter() {}

    private static RateLimitEngine limits() {
        return RateLimitEngine.builder()
                .rule(RateLimitRule.named("reports")
                        .path("/reports/**")
                        .globalKey()
                        .policy(TokenBucket.perHour(2))
                        .build())
                .rule(RateLimitRule.named("user")
                        .key(WebKeys.apiKey("X-Api-Key"))
                        .policy(TokenBucket.perHour(4))
                        .build())
                .rule(RateLimitRule.named("address")
                        .key(WebKeys.clientAddress())
                        .policy(TokenBucket.perHour(6))
                        .build())
                .build();
    }

    private static HttpHandler application() {
        return RouterFunctions.toHttpHandler(
                RouterFunctions.route(
                        RequestPredicates.all(), request -> ServerResponse.ok().build()),
                HandlerStrategies.builder()
                        .webFilter(RateLimitWebFilter.of(limits()))
                        .build());
    }

    private static void ask(WebClient client, String user, String path) {
        client.get()
                .uri(path)
                .header("X-Api-Key", user)
                .exchangeToMono(response -> response.bodyToMono(String.class)
                        .defaultIfEmpty("")
                        .doOnNext(body -> System.out.printf(
                                "%-5s %-8s %s  RateLimit: %s %s%n",
                                user,
                                path,
                                response.statusCode().value(),
                                response.headers().header("RateLimit").get(0),
                                body)))
                .block();
    }

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        DisposableServer server = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(application()))
                .bindNow();
        WebClient client = WebClient.create("http://127.0.0.1:" + server.port());

        ask(client, "alice", "/reports");
        ask(client, "alice", "/reports");
        ask(client, "alice", "/reports"); // costs neither alice nor her address anything
        ask(client, "alice", "/hello");
        ask(client, "alice", "/hello");
        ask(client, "alice", "/hello");
        ask(client, "bob", "/hello");
        ask(client, "bob", "/hello");
        ask(client, "bob", "/hello");
        server.disposeNow();
    }
}

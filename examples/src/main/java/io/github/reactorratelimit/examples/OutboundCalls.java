package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.client.RateLimitExchangeFilter;
import java.time.Duration;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Ten calls at once to a server that bears twenty a second: the filter of the {@code WebClient} sends them one by one. */
public final class OutboundCalls {

    private OutboundCalls() {}

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        DisposableServer fragile = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> response.sendString(Mono.just("ok")))
                .bindNow();
        RateLimiter limiter = RateLimiter.of(LeakyBucket.perSecond(20));
        WebClient client = WebClient.builder()
                .baseUrl("http://127.0.0.1:" + fragile.port())
                .filter(RateLimitExchangeFilter.of(limiter, spec -> spec.maxWait(Duration.ofMinutes(1))))
                .build();

        // The first call of a process takes long; without it the pace is better seen.
        client.get().retrieve().bodyToMono(String.class).block();
        Flux.range(1, 10)
                .flatMap(call -> client.get().retrieve().bodyToMono(String.class))
                .timed()
                .doOnNext(answer -> System.out.printf(
                        "%s after %4d ms%n",
                        answer.get(), answer.elapsedSinceSubscription().toMillis()))
                .blockLast();
        fragile.disposeNow();
    }
}

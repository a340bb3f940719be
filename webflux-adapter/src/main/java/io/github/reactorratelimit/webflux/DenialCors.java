package io.github.reactorratelimit.webflux;

import java.util.List;
import java.util.function.Supplier;
import org.springframework.http.HttpHeaders;
import org.springframework.web.cors.CorsConfiguration;
import org.springframework.web.cors.reactive.CorsConfigurationSource;
import org.springframework.web.cors.reactive.CorsProcessor;
import org.springframework.web.cors.reactive.DefaultCorsProcessor;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Gives the response to a denied request the CORS headers that the application would have given it. Without them the
 * script of another origin learns nothing of it, not even the status. It is called for cross-origin requests only, and
 * does nothing if an earlier filter has written the headers.
 */
@FunctionalInterface
public interface DenialCors {

    /** Writes the headers, and completes; to be called before the status is set. */
    Mono<Void> write(ServerWebExchange exchange);

    /** Writes none: for applications that have none, or whose {@code CorsWebFilter} comes first. */
    static DenialCors none() {
        return exchange -> Mono.empty();
    }

    /** As a {@code CorsWebFilter} with this source would, which comes later. */
    static DenialCors from(CorsConfigurationSource source) {
        CorsProcessor processor = new DefaultCorsProcessor();
        return exchange -> Mono.fromRunnable(() -> {
            CorsConfiguration configuration = hasNoCorsHeaders(exchange) ? source.getCorsConfiguration(exchange) : null;
            if (configuration != null) {
                processor.process(configuration, exchange);
            }
        });
    }

    /**
     * As the application's handler mappings would: {@code @CrossOrigin}, and what is configured for all of them. They
     * look up the handler, which is not called, and write the headers while they do.
     *
     * @param mappings those of the {@code DispatcherHandler}, obtained when first needed
     */
    static DenialCors from(Supplier<List<HandlerMapping>> mappings) {
        return exchange -> Mono.defer(() -> hasNoCorsHeaders(exchange)
                ? Flux.fromIterable(mappings.get())
                        .concatMap(mapping -> mapping.getHandler(exchange), 0)
                        .next()
                        .then()
                        .onErrorComplete(Exception.class)
                : Mono.empty());
    }

    private static boolean hasNoCorsHeaders(ServerWebExchange exchange) {
        return exchange.getResponse().getHeaders().getFirst(HttpHeaders.ACCESS_CONTROL_ALLOW_ORIGIN) == null;
    }
}

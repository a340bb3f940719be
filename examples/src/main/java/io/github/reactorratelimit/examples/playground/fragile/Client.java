package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import java.net.URI;
import org.springframework.http.HttpMethod;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientException;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** How a side calls its server. */
@FunctionalInterface
interface Client {

    /** How often a call is tried again, if it is. */
    int MOST_RETRIES = 3;

    /** All calls are alike. */
    ClientRequest REQUEST = ClientRequest.create(HttpMethod.GET, URI.create("http://fragile.example/"))
            .build();

    /** A call, and perhaps the same again; an answer that is not good is an error, as {@code retrieve()} makes it. */
    Mono<Void> call(ExchangeFunction server, Retries retries);

    /** Without a limiter: what failed is tried again at once, as is done by hand. */
    static Mono<Void> plain(ExchangeFunction server, Retries retries) {
        Mono<Void> call = Mono.defer(() -> read(server.exchange(REQUEST)));
        return retries == Retries.NEVER
                ? call
                : call.retryWhen(Retry.max(MOST_RETRIES)
                        .filter(WebClientException.class::isInstance)
                        .onRetryExhaustedThrow((spec, last) -> last.failure()));
    }

    /** Reads an answer to its end. */
    static Mono<Void> read(Mono<ClientResponse> answer) {
        return answer.flatMap(
                response -> response.statusCode().isError() ? response.<Void>createError() : response.releaseBody());
    }
}

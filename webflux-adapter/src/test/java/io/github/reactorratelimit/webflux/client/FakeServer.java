package io.github.reactorratelimit.webflux.client;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Answers at once, without a network, and notes when each request came by the clock of the test. */
final class FakeServer implements ExchangeFunction {

    /** A request to {@code http://api.example.com/path}. */
    static final ClientRequest GET = request(HttpMethod.GET, "http://api.example.com/path");

    static final String KEY = "api.example.com:80";

    private final Scheduler clock = Schedulers.parallel();
    private final Function<Integer, Mono<ClientResponse>> answers;
    private final List<Long> arrivalsMillis = new ArrayList<>();

    /** @param answers the answer to the n-th request, counted from 0 */
    FakeServer(Function<Integer, Mono<ClientResponse>> answers) {
        this.answers = answers;
    }

    static FakeServer saying(ClientResponse answer) {
        return new FakeServer(number -> Mono.just(answer));
    }

    static ClientRequest request(HttpMethod method, String url) {
        return ClientRequest.create(method, URI.create(url)).build();
    }

    /** An answer with header fields, names and values in turn. */
    static ClientResponse answer(int status, String... fields) {
        ClientResponse.Builder answer = ClientResponse.create(HttpStatusCode.valueOf(status));
        for (int i = 0; i < fields.length; i += 2) {
            answer.header(fields[i], fields[i + 1]);
        }
        return answer.build();
    }

    @Override
    public synchronized Mono<ClientResponse> exchange(ClientRequest request) {
        arrivalsMillis.add(clock.now(TimeUnit.NANOSECONDS) / 1_000_000);
        return Objects.requireNonNull(answers.apply(arrivalsMillis.size() - 1));
    }

    /** When requests came, in milliseconds after the first. */
    synchronized List<Long> arrivalsMillis() {
        return arrivalsMillis.stream().map(at -> at - arrivalsMillis.get(0)).toList();
    }
}

package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.adaptive.AdaptiveConcurrency;
import io.github.reactorratelimit.adaptive.AdaptiveLimiter;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientResponseException.ServiceUnavailable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** A server bears eight calls at a time and refuses more, which nobody told its client: the limiter finds it out. */
public final class AdaptiveCalls {

    private static final int BEARS = 8;
    private static final int CALLS_PER_LINE = 200;

    private AdaptiveCalls() {}

    private static DisposableServer fragileServer() {
        AtomicInteger inFlight = new AtomicInteger();
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle((request, response) -> {
                    boolean tooMany = inFlight.incrementAndGet() > BEARS;
                    return Mono.delay(Duration.ofMillis(tooMany ? 1 : 20))
                            .doOnNext(worked -> inFlight.decrementAndGet())
                            .then(response.status(tooMany ? 503 : 200).send());
                })
                .bindNow();
    }

    /**
     * Runs the example, which ends by itself after some seconds.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        DisposableServer server = fragileServer();
        WebClient client = WebClient.create("http://127.0.0.1:" + server.port());
        AdaptiveLimiter limiter = AdaptiveLimiter.builder(AdaptiveConcurrency.aimd(1, 100))
                .overloadWhen(failure -> failure instanceof ServiceUnavailable)
                .build();

        Flux.range(1, 2_000)
                .flatMap(
                        call -> client.get()
                                .retrieve()
                                .toBodilessEntity()
                                .transform(limiter.limitCalls())
                                .thenReturn(true)
                                .onErrorReturn(ServiceUnavailable.class, false),
                        100)
                .buffer(CALLS_PER_LINE)
                .doOnNext(answered -> System.out.printf(
                        "%2d at a time: %3d answered, %3d refused%n",
                        limiter.currentLimit(),
                        answered.stream().filter(well -> well).count(),
                        answered.stream().filter(well -> !well).count()))
                .blockLast();
        server.disposeNow();
    }
}

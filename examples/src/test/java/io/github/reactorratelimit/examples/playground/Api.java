package io.github.reactorratelimit.examples.playground;

import io.github.reactorratelimit.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** What a page asks the server for, without a page. */
public final class Api {

    private final WebClient client;

    /** Of a playground. */
    public Api(Playground playground) {
        this.client = WebClient.create(playground.url());
    }

    /** The answer to a post; of a good one, which may be a stream without end, only that it was. */
    public ResponseEntity<String> post(String path, Object body) {
        return client.post()
                .uri(path)
                .contentType(MediaType.APPLICATION_JSON)
                .bodyValue(body)
                .exchangeToMono(answer -> answer.statusCode().is2xxSuccessful()
                        ? answer.bodyToFlux(String.class).take(1).then(Mono.just(ResponseEntity.ok("")))
                        : answer.toEntity(String.class))
                .block();
    }

    /** Pages that take the frames of a simulation each; returns when all of them have begun. */
    public List<Disposable> streams(int count, String path, Object settings) {
        List<Disposable> pages = new ArrayList<>();
        AtomicInteger greeted = new AtomicInteger();
        for (int i = 0; i < count; i++) {
            AtomicInteger mine = new AtomicInteger();
            pages.add(client.post()
                    .uri(path)
                    .bodyValue(settings)
                    .retrieve()
                    .bodyToFlux(String.class)
                    .doOnNext(event -> {
                        if (mine.getAndIncrement() == 0) {
                            greeted.incrementAndGet();
                        }
                    })
                    .onErrorComplete()
                    .subscribe());
        }
        Await.until("all run", () -> greeted.get() == count);
        return pages;
    }
}

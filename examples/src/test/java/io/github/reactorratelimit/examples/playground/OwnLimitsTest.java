package io.github.reactorratelimit.examples.playground;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.boot.RateLimits;
import org.junit.jupiter.api.Test;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.client.WebClient;

/** The limits of the playground itself, as they are shipped. */
class OwnLimitsTest {

    @Test
    void fewReplaysRunAtOnceAndOneAloneIsAnswered() {
        try (Playground playground = Playground.start()) {
            RateLimiter replays =
                    playground.bean(RateLimits.class).limiter("replays-at-once").orElseThrow();
            assertThat(replays.policy()).isEqualTo(ConcurrencyLimit.of(3));

            String answer = WebClient.create(playground.url())
                    .post()
                    .uri("/api/replay?policy=gcra:1/s")
                    .contentType(MediaType.TEXT_PLAIN)
                    .bodyValue("1,a")
                    .retrieve()
                    .bodyToMono(String.class)
                    .block();
            assertThat(answer).contains("\"requests\":1");
        }
    }

    @Test
    void fewSimulationsOfEachTabRunAtOnce() {
        try (Playground playground = Playground.start()) {
            RateLimits limits = playground.bean(RateLimits.class);

            assertThat(limits.limiter("simulations").orElseThrow().policy()).isEqualTo(ConcurrencyLimit.of(24));
            assertThat(limits.limiter("fragile-simulations").orElseThrow().policy())
                    .isEqualTo(ConcurrencyLimit.of(12));
        }
    }
}

package io.github.reactorratelimit.examples.playground.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.test.scheduler.VirtualTimeScheduler;

class FragileServerTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<ClientResponse> answers = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private FragileServer server(int capacity, String breaks) {
        Map<String, Object> json = FragileApiTest.settings();
        json.putAll(Map.of("capacity", capacity, "breaks", breaks));
        return new FragileServer(Settings.of(json), time, () -> {});
    }

    private void call(FragileServer server, int times) {
        for (int i = 0; i < times; i++) {
            server.exchange(Client.REQUEST).subscribe(answers::add, failures::add);
        }
    }

    @Test
    void aRefusalSaysWhenToComeBack() {
        FragileServer server = server(10, "refuses");
        call(server, 5);
        time.advanceTimeBy(Duration.ofSeconds(2));

        assertThat(answers).hasSize(5);
        ClientResponse refusal = answers.stream()
                .filter(answer -> answer.statusCode() == HttpStatus.TOO_MANY_REQUESTS)
                .findFirst()
                .orElseThrow();
        assertThat(refusal.headers().header(HttpHeaders.RETRY_AFTER)).containsExactly("1");
        assertThat(server.counted()).isEqualTo(new FragileServer.Counted(5, 3, 2, 0, 0, 0));
    }

    @Test
    void anIdleServerAnswersAfterItsLatency() {
        FragileServer server = server(40, "fails");
        call(server, 1);
        time.advanceTimeBy(FragileServer.LATENCY.minusNanos(1));
        assertThat(answers).isEmpty();
        assertThat(server.counted().inside()).isEqualTo(1);

        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(answers).hasSize(1);
    }

    @Test
    void workForAClientThatHasGoneIsDoneAllTheSame() {
        FragileServer server = server(12, "slows-down");
        call(server, 20);
        time.advanceTimeBy(Duration.ofMillis(1_500));

        assertThat(server.counted()).isEqualTo(new FragileServer.Counted(20, 12, 0, 0, 8, 0));
        assertThat(failures).hasSize(8).allMatch(WebClientRequestException.class::isInstance);

        call(server, 1);
        time.advanceTimeBy(Duration.ofMillis(600));
        assertThat(answers).hasSize(13).allMatch(answer -> answer.statusCode() == HttpStatus.OK);
    }

    @Test
    void inABadMomentItCanDoHalfAsMuch() {
        FragileServer server = server(10, "refuses");
        server.haveABadMoment(Duration.ofSeconds(2));
        assertThat(server.capacityNow()).isEqualTo(5);
        call(server, 5);
        time.advanceTimeBy(Duration.ofSeconds(2));

        assertThat(server.counted().answered()).isEqualTo(2);
        assertThat(server.capacityNow()).isEqualTo(10);
    }
}

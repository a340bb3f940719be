package io.github.reactorratelimit.webflux.fragile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Arrival;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import io.github.reactorratelimit.webflux.testing.KeptAlive;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The server breaks as it says, and tells what came. */
class FragileServerTest {

    private static final long MILLI = 1_000_000;
    private static final Duration TOLERANCE = Duration.ofMillis(25);

    private static Capacity capacity(Overload overload) {
        return new Capacity(100, TOLERANCE, overload, -7);
    }

    private static long bornAtOnce(Capacity capacity, long nowNanos) {
        return IntStream.range(0, 10).filter(i -> capacity.bears(nowNanos)).count();
    }

    @Test
    void whatIsMoreThanItToleratesIsRefusedAndCostsNothing() {
        Capacity capacity = capacity(Overload.REFUSES);
        assertThat(bornAtOnce(capacity, 0)).isEqualTo(3);
        assertThat(capacity.bears(5 * MILLI - 1)).isFalse();
        assertThat(capacity.bears(5 * MILLI)).isTrue();
        assertThat(capacity.bears(5 * MILLI)).isFalse();
    }

    @Test
    void aCallThatFailsCostsWhatAnAnswerDoesUpToItsRecovery() {
        Capacity capacity = capacity(Overload.FAILS);
        assertThat(bornAtOnce(capacity, 0)).isEqualTo(3);
        assertThat(capacity.busyNanos(0)).isEqualTo(100 * MILLI);
        IntStream.range(0, 1_000).forEach(i -> capacity.bears(0));
        assertThat(capacity.busyNanos(0)).isEqualTo(1_025 * MILLI);
        assertThat(capacity.bears(1_000 * MILLI)).isTrue();
    }

    @Test
    void aServerThatSlowsDownTakesEverythingInAndIsBusyForLonger() {
        Capacity capacity = capacity(Overload.SLOWS_DOWN);
        assertThat(bornAtOnce(capacity, 0)).isEqualTo(10);
        assertThat(capacity.busyNanos(0)).isEqualTo(100 * MILLI);
        assertThat(capacity.busyNanos(150 * MILLI)).isZero();
    }

    @Test
    void anotherCapacityCountsFromTheNextCallOn() {
        Capacity capacity = capacity(Overload.REFUSES);
        capacity.change(1_000);
        assertThat(bornAtOnce(capacity, 0)).isEqualTo(10);
        assertThat(capacity.busyNanos(0)).isEqualTo(10 * MILLI);
        assertThatThrownBy(() -> capacity.change(0)).hasMessageContaining("0");
    }

    @Test
    void answersAndTellsWhatCame() {
        Settings settings = Settings.of(1, Overload.REFUSES)
                .withTolerance(Duration.ofHours(1))
                .withRetryAfter("soon");
        try (FragileServer server = FragileServer.start(settings)) {
            long before = System.nanoTime();
            try (KeptAlive client = KeptAlive.to(server.port())) {
                assertThat(client.get("/any", FragileServer.CALL + ": one")).isEqualTo(200);
                server.answerNext(503, "7");
                assertThat(client.get("/any", FragileServer.CALL + ": two")).isEqualTo(503);
                assertThat(client.get("/other")).isEqualTo(200);
                assertThat(server.connections()).isEqualTo(1);
            }
            assertThat(server.arrivals()).extracting(Arrival::call).containsExactly("one", "two", "");
            assertThat(server.arrivals()).extracting(Arrival::status).containsExactly(200, 503, 200);
            assertThat(server.arrivals()).extracting(Arrival::nanos).isSorted().allMatch(nanos -> nanos - before > 0);
            assertThat(server.arrived()).isEqualTo(3);
            assertThat(server.failed()).isEqualTo(1);
            Await.until("the connection is gone", () -> server.connections() == 0);
            Await.until("everything is answered", () -> server.inFlight() == 0);
        }
    }

    /** However long a machine stands still between two calls: sooner or later one comes too soon. */
    private static HttpResponse<String> firstFailure(Settings settings) throws Exception {
        try (FragileServer server = FragileServer.start(settings.withTolerance(Duration.ZERO))) {
            HttpRequest request =
                    HttpRequest.newBuilder(URI.create(server.url())).build();
            HttpClient client = HttpClient.newHttpClient();
            for (; ; ) {
                HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
                if (response.statusCode() != 200) {
                    assertThat(server.failed()).isEqualTo(1);
                    return response;
                }
            }
        }
    }

    @Test
    void overloadShowsInTheAnswer() throws Exception {
        HttpResponse<String> refused =
                firstFailure(Settings.of(1, Overload.REFUSES).withRetryAfter("3"));
        assertThat(refused.statusCode()).isEqualTo(429);
        assertThat(refused.headers().firstValue("Retry-After")).contains("3");
        HttpResponse<String> failed =
                firstFailure(Settings.of(1, Overload.FAILS).withRetryAfter("3"));
        assertThat(failed.statusCode()).isEqualTo(500);
        assertThat(failed.headers().firstValue("Retry-After")).isEmpty();
    }

    @Test
    void anAnswerTakesItsLatencyOrTheWorkBeforeIt() {
        Settings slow = Settings.of(500, Overload.SLOWS_DOWN);
        try (FragileServer idle = FragileServer.start(slow.withLatency(Duration.ofMillis(5)));
                FragileServer busy = FragileServer.start(slow);
                KeptAlive one = KeptAlive.to(idle.port());
                KeptAlive other = KeptAlive.to(busy.port())) {
            assertThat(one.get("/")).isEqualTo(200);
            assertThat(other.get("/")).isEqualTo(200);
            assertThat(idle.arrivals()).extracting(Arrival::delayNanos).containsExactly(5 * MILLI);
            assertThat(busy.arrivals()).extracting(Arrival::delayNanos).containsExactly(2 * MILLI);
        }
    }
}

package io.github.reactorratelimit.webflux.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.webflux.client.RateLimitExchangeFilter;
import io.github.reactorratelimit.webflux.fragile.FragileServer.Settings;
import io.github.reactorratelimit.webflux.testing.Counting;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.Disposable;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;
import reactor.netty.resources.ConnectionProvider.MeterRegistrar;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Calls that queue up before a limiter, and half of them give up. The limiter's time is virtual, so that slots are exact; the calls
 * go over real connections to a real server.
 */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class CancelStormTest {

    private static final int CALLS = 10_000;
    private static final int CONNECTIONS = 16;
    private static final Duration INTERVAL = Duration.ofMillis(1);
    private static final Duration LONG = Duration.ofMinutes(1);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final CountingScheduler scheduler = new CountingScheduler(time);
    private final Counting counting = new Counting();
    private final RateLimiter limiter = RateLimiter.builder(
                    LeakyBucket.of(1, INTERVAL).withQueue(CALLS))
            .maxWaiters(CALLS)
            .scheduler(scheduler)
            .recorder(counting)
            .build();
    private final FragileServer server =
            FragileServer.start(Settings.of(1, Overload.REFUSES).withTolerance(Duration.ofDays(1)));
    private final Pool pool = new Pool();
    private final ConnectionProvider provider = ConnectionProvider.builder("storm")
            .maxConnections(CONNECTIONS)
            .pendingAcquireMaxCount(-1)
            .pendingAcquireTimeout(Duration.ofMinutes(4))
            .metrics(true, () -> pool)
            .build();

    /** The virtual times at which calls were let go. */
    private final Queue<Long> departures = new ConcurrentLinkedQueue<>();

    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();

    /** What the provider says about its only pool. */
    private static final class Pool implements MeterRegistrar {

        private volatile ConnectionPoolMetrics metrics;

        @Override
        public void registerMetrics(String name, String id, SocketAddress remote, ConnectionPoolMetrics metrics) {
            this.metrics = metrics;
        }
    }

    @AfterEach
    void end() {
        limiter.close().block(LONG);
        provider.disposeLater().block(LONG);
        server.close();
    }

    private WebClient client() {
        ExchangeFilterFunction departure = (request, next) -> {
            departures.add(time.now(TimeUnit.NANOSECONDS));
            return next.exchange(request);
        };
        return WebClient.builder()
                .baseUrl(server.url())
                .clientConnector(new ReactorClientHttpConnector(HttpClient.create(provider)))
                .filter(RateLimitExchangeFilter.of(limiter))
                .filter(departure)
                .build();
    }

    private List<Disposable> queueUp() {
        WebClient client = client();
        List<Disposable> calls = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            calls.add(client.get()
                    .retrieve()
                    .toBodilessEntity()
                    .subscribe(answer -> answered.incrementAndGet(), failure -> failed.incrementAndGet()));
        }
        return calls;
    }

    /** Some of the calls, from two threads at once. */
    private static void cancelHalf(List<Disposable> calls, Random random) throws InterruptedException {
        List<Disposable> shuffled = new ArrayList<>(calls);
        Collections.shuffle(shuffled, random);
        List<Disposable> unlucky = shuffled.subList(0, calls.size() / 2);
        Thread other = new Thread(() -> unlucky.subList(0, unlucky.size() / 2).forEach(Disposable::dispose));
        other.start();
        unlucky.subList(unlucky.size() / 2, unlucky.size()).forEach(Disposable::dispose);
        other.join();
    }

    private void nothingIsLeft() {
        assertThat(counting.waiting).hasValue(0);
        assertThat(scheduler.tasks()).as("timers").isZero();
        assertThat(scheduler.workers()).as("workers").isZero();
        Await.until("the server has answered", () -> server.inFlight() == 0);
        Await.until("no connection is in use", () -> pool.metrics.acquiredSize() == 0);
        assertThat(pool.metrics.pendingAcquireSize())
                .as("calls that wait for a connection")
                .isZero();
        assertThat(pool.metrics.allocatedSize()).isLessThanOrEqualTo(CONNECTIONS);
        Await.until(
                "the server has the connections that the client keeps",
                () -> server.connections() == pool.metrics.idleSize());
    }

    @Test
    void whoStaysLeavesInEverySlotAndNothingIsLeftBehind() throws Exception {
        Random random = new Random(Seeds.of("cancel storm"));
        List<Disposable> calls = queueUp();
        time.advanceTime();
        assertThat(departures).hasSize(1);
        assertThat(counting.waiting).hasValue(CALLS - 1);
        assertThat(scheduler.tasks()).as("timers").isPositive();
        cancelHalf(calls.subList(1, CALLS), random);
        int left = CALLS - 1 - (CALLS - 1) / 2;
        assertThat(counting.waiting).as("who gives up leaves at once").hasValue(left);
        time.advanceTimeBy(INTERVAL.multipliedBy(CALLS));
        assertThat(departures)
                .containsExactlyElementsOf(IntStream.rangeClosed(0, left)
                        .mapToObj(slot -> slot * INTERVAL.toNanos())
                        .toList());
        Await.until("all who stayed have their answers", () -> answered.get() == left + 1);
        assertThat(failed).hasValue(0);
        assertThat(counting.cancelled).hasValue((CALLS - 1) / 2);
        assertThat(server.arrived()).isEqualTo(left + 1);
        nothingIsLeft();
    }

    @Test
    void whenAllHaveGivenUpNoTimerIsLeft() {
        List<Disposable> calls = queueUp();
        time.advanceTime();
        assertThat(departures).hasSize(1);
        assertThat(scheduler.tasks()).as("timers").isPositive();
        List<Disposable> waiting = calls.subList(1, CALLS);
        Collections.shuffle(waiting, new Random(Seeds.of("all give up")));
        waiting.forEach(Disposable::dispose);
        assertThat(counting.waiting).hasValue(0);
        assertThat(scheduler.tasks()).as("timers").isZero();
        assertThat(scheduler.workers()).as("workers").isZero();
        Await.until("who was let go has its answer", () -> answered.get() == 1);
        nothingIsLeft();
    }
}

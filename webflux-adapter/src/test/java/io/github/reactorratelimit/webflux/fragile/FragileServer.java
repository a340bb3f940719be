package io.github.reactorratelimit.webflux.fragile;

import io.netty.handler.codec.http.HttpHeaderNames;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/**
 * A downstream on a free port of the loopback address that can do so much per second, and shows it when it is called more
 * often. Answers any request; remembers when each one arrived.
 *
 * <p>Times are {@link System#nanoTime()}: on Linux that reads {@code CLOCK_MONOTONIC}, one clock for all processes of the machine,
 * so that times noted in different processes can be compared.
 */
public final class FragileServer implements AutoCloseable {

    /** The header by which a client names a call, for {@link Arrival#call()}. */
    public static final String CALL = "X-Call";

    private static final int OK = 200;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int FAILURE = 500;
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    /**
     * How a server behaves.
     *
     * @param capacityPerSecond calls it can do per second
     * @param tolerance work that may lie before it when it takes one more call in: what came together, or late
     * @param latency how long any answer takes, however idle it is
     * @param overload what it does with what it cannot bear
     * @param retryAfter what a 429 says in Retry-After, as it is; nothing if empty
     */
    public record Settings(
            long capacityPerSecond, Duration tolerance, Duration latency, Overload overload, String retryAfter) {

        /** A tolerance of a quarter of a second, no latency, and no Retry-After. */
        public static Settings of(long capacityPerSecond, Overload overload) {
            return new Settings(capacityPerSecond, Duration.ofMillis(250), Duration.ZERO, overload, "");
        }

        public Settings withTolerance(Duration tolerance) {
            return new Settings(capacityPerSecond, tolerance, latency, overload, retryAfter);
        }

        public Settings withLatency(Duration latency) {
            return new Settings(capacityPerSecond, tolerance, latency, overload, retryAfter);
        }

        public Settings withRetryAfter(String retryAfter) {
            return new Settings(capacityPerSecond, tolerance, latency, overload, retryAfter);
        }
    }

    /**
     * A call that came.
     *
     * @param nanos when, by {@link System#nanoTime()}
     * @param call how its client named it; empty if it did not
     * @param status the answer
     * @param delayNanos how long the answer was held back
     */
    public record Arrival(long nanos, String call, int status, long delayNanos) {}

    private record Answer(int status, String retryAfter, long delayNanos) {}

    private final Settings settings;
    private final Capacity capacity;
    private final List<Arrival> arrivals = new ArrayList<>();
    private final Queue<Answer> ordered = new ConcurrentLinkedQueue<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger inFlight = new AtomicInteger();
    private final DisposableServer server;

    private FragileServer(Settings settings) {
        this.settings = settings;
        this.capacity = new Capacity(
                settings.capacityPerSecond(), settings.tolerance(), settings.overload(), System.nanoTime());
        this.server = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .doOnChannelInit((observer, channel, client) -> {
                    connections.incrementAndGet();
                    channel.closeFuture().addListener(closed -> connections.decrementAndGet());
                })
                .handle(this::handle)
                .bindNow(PATIENCE);
    }

    /** A server that answers. */
    public static FragileServer start(Settings settings) {
        return new FragileServer(settings);
    }

    /** Where it is. */
    public int port() {
        return server.port();
    }

    /** Where it is, as the base of a WebClient. */
    public String url() {
        return "http://127.0.0.1:" + port();
    }

    /** Changes what it can do per second, for the calls that come from now on. */
    public void capacityPerSecond(long calls) {
        synchronized (arrivals) {
            capacity.change(calls);
        }
    }

    /** Forgets what came, as if it had just started: whoever called it to warm up does not count. */
    public void forget() {
        synchronized (arrivals) {
            arrivals.clear();
            capacity.forget(System.nanoTime());
        }
    }

    /** Answers the next call so, whatever it can bear; several orders are carried out one call each. */
    public void answerNext(int status, String retryAfter) {
        ordered.add(new Answer(status, retryAfter, settings.latency().toNanos()));
    }

    /** The calls that came until now, by their times. */
    public List<Arrival> arrivals() {
        synchronized (arrivals) {
            return List.copyOf(arrivals);
        }
    }

    /** Calls that came until now. */
    public int arrived() {
        synchronized (arrivals) {
            return arrivals.size();
        }
    }

    /** Calls that came until now and were not answered well. */
    public long failed() {
        synchronized (arrivals) {
            return arrivals.stream().filter(arrival -> arrival.status() != OK).count();
        }
    }

    /** Calls it has not answered yet. */
    public int inFlight() {
        return inFlight.get();
    }

    /** Connections that are open now. */
    public int connections() {
        return connections.get();
    }

    @Override
    public void close() {
        server.disposeNow(PATIENCE);
    }

    private Publisher<Void> handle(HttpServerRequest request, HttpServerResponse response) {
        Answer answer = arrive(request.requestHeaders().get(CALL, ""));
        if (!answer.retryAfter().isEmpty()) {
            response.header(HttpHeaderNames.RETRY_AFTER, answer.retryAfter());
        }
        inFlight.incrementAndGet();
        Mono<Void> answered = response.status(answer.status())
                .sendString(Mono.just(answer.status() == OK ? "done" : "too much"))
                .then();
        Mono<Void> held = answer.delayNanos() == 0
                ? answered
                : Mono.delay(Duration.ofNanos(answer.delayNanos())).then(answered);
        return held.doFinally(end -> inFlight.decrementAndGet());
    }

    /** The times are read one after the other: arrivals are in order, and capacity never runs backwards. */
    private Answer arrive(String call) {
        synchronized (arrivals) {
            long nowNanos = System.nanoTime();
            Answer order = ordered.poll();
            Answer answer = order == null ? answer(nowNanos) : order;
            arrivals.add(new Arrival(nowNanos, call, answer.status(), answer.delayNanos()));
            return answer;
        }
    }

    private Answer answer(long nowNanos) {
        long latencyNanos = settings.latency().toNanos();
        if (!capacity.bears(nowNanos)) {
            return settings.overload() == Overload.REFUSES
                    ? new Answer(TOO_MANY_REQUESTS, settings.retryAfter(), latencyNanos)
                    : new Answer(FAILURE, "", latencyNanos);
        }
        long heldNanos = settings.overload() == Overload.SLOWS_DOWN ? capacity.busyNanos(nowNanos) : 0;
        return new Answer(OK, "", Math.max(latencyNanos, heldNanos));
    }
}

package io.github.reactorratelimit.examples.playground.fragile;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * A server that can do so much per second, and shows it when it is called more often; in this process, and in the time of its scheduler. Answers what a
 * {@code WebClient} would be answered by a real one: 200, 429 with {@code Retry-After}, 503, or too late.
 */
final class FragileServer implements ExchangeFunction {

    /** What an answer takes at least, however idle the server is. */
    static final Duration LATENCY = Duration.ofMillis(100);

    /** What a client waits for an answer. The work for one who has gone is done all the same. */
    static final Duration PATIENCE = Duration.ofSeconds(1);

    /** What a 429 says in {@code Retry-After}, in seconds. */
    static final String RETRY_AFTER = "1";

    private final Scheduler scheduler;
    private final Runnable received;
    private final Load load;
    private final AtomicLong calls = new AtomicLong();
    private final AtomicLong answered = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    private final AtomicLong late = new AtomicLong();
    private final AtomicLong inside = new AtomicLong();
    private int capacity;
    private Breaks breaks;
    private long halvedUntilNanos;

    /** @param received told of each call that reaches the server */
    FragileServer(Settings settings, Scheduler scheduler, Runnable received) {
        this.scheduler = scheduler;
        this.received = received;
        this.capacity = settings.capacity();
        this.breaks = settings.breaks();
        this.halvedUntilNanos = nowNanos();
        this.load = new Load(nowNanos());
    }

    /** Counts for the calls that come from now on. */
    synchronized void change(Settings settings) {
        capacity = settings.capacity();
        breaks = settings.breaks();
    }

    /** It can do half as much for a while. */
    synchronized void haveABadMoment(Duration duration) {
        halvedUntilNanos = nowNanos() + duration.toNanos();
    }

    synchronized boolean hasABadMoment() {
        return halvedUntilNanos - nowNanos() > 0;
    }

    /** Calls that it can do per second now. */
    synchronized int capacityNow() {
        return hasABadMoment() ? Math.max(1, capacity / 2) : capacity;
    }

    @Override
    public Mono<ClientResponse> exchange(ClientRequest request) {
        return Mono.defer(() -> {
            Answer answer = receive();
            return Mono.delay(Duration.ofNanos(answer.delayNanos()), scheduler)
                    .timeout(PATIENCE, scheduler)
                    .doOnNext(tick -> counter(answer.status()).incrementAndGet())
                    .doOnError(tooLate -> late.incrementAndGet())
                    .doFinally(end -> inside.decrementAndGet())
                    .onErrorMap(tooLate ->
                            new WebClientRequestException(tooLate, request.method(), request.url(), HttpHeaders.EMPTY))
                    .map(tick -> answer.response());
        });
    }

    private record Answer(HttpStatus status, long delayNanos) {

        ClientResponse response() {
            ClientResponse.Builder response = ClientResponse.create(status);
            if (status == HttpStatus.TOO_MANY_REQUESTS) {
                response.header(HttpHeaders.RETRY_AFTER, RETRY_AFTER);
            }
            return response.build();
        }
    }

    private Answer receive() {
        calls.incrementAndGet();
        inside.incrementAndGet();
        received.run();
        return decide();
    }

    private synchronized Answer decide() {
        long now = nowNanos();
        if (load.take(now, capacityNow(), breaks)) {
            return new Answer(HttpStatus.OK, Math.max(LATENCY.toNanos(), load.busyNanos(now)));
        }
        HttpStatus status = breaks == Breaks.REFUSES ? HttpStatus.TOO_MANY_REQUESTS : HttpStatus.SERVICE_UNAVAILABLE;
        return new Answer(status, LATENCY.toNanos());
    }

    private AtomicLong counter(HttpStatus status) {
        return switch (status) {
            case OK -> answered;
            case TOO_MANY_REQUESTS -> refused;
            default -> failed;
        };
    }

    private long nowNanos() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }

    /** What the server itself counted. */
    Counted counted() {
        return new Counted(calls.get(), answered.get(), refused.get(), failed.get(), late.get(), inside.get());
    }

    /**
     * What a server counted.
     *
     * @param received calls that reached it
     * @param answered 200, in time
     * @param refused 429
     * @param failed 503
     * @param late the client had gone before there was an answer
     * @param inside not answered yet, and somebody waits for it
     */
    record Counted(long received, long answered, long refused, long failed, long late, long inside) {}
}

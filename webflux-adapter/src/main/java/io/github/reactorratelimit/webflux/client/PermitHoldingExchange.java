package io.github.reactorratelimit.webflux.client;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A call that has a stake in a limiter until its answer was read.
 *
 * <p>Why the stake ends exactly once. It is put into {@code held} before the call is subscribed, and whoever takes it out ends it; so
 * only the way to {@code held} and the moments of taking matter:
 *
 * <ul>
 *   <li>A stake that comes when the caller has left is found by {@code hold}, after it was put there: {@code left} is written before
 *       {@code held} is looked at, and read after {@code held} was written, so that at least one of the two sees the other.
 *   <li>A call that fails, or completes without an answer, takes it.
 *   <li>A caller that leaves takes it, unless the body is being read. The connector of {@code WebClient} does the same with the body: one that
 *       was not subscribed to when the caller left is released. Where both happen at once, {@code reading} decides: it is
 *       written before the body is subscribed, and a caller who leaves also cancels what reads the body for it.
 *   <li>A body takes it when it ends, fails or is cancelled, before that is passed on: who starts over finds the permits there.
 * </ul>
 *
 * <p>An answer whose body nobody ever reads keeps the stake, as it keeps its connection.
 */
final class PermitHoldingExchange {

    private final AtomicReference<@Nullable CallPermit> held = new AtomicReference<>();

    private volatile boolean left;
    private volatile boolean reading;

    private PermitHoldingExchange() {}

    /** Calls with what {@code grant} gives, which ends with the call. */
    static <G> Mono<ClientResponse> of(Mono<G> grant, Function<G, CallPermit> stake, Mono<ClientResponse> call) {
        return Mono.defer(() -> {
            PermitHoldingExchange until = new PermitHoldingExchange();
            return grant.flatMap(granted -> until.call(stake.apply(granted), call))
                    .doOnCancel(until::leave);
        });
    }

    private Mono<ClientResponse> call(CallPermit stake, Mono<ClientResponse> call) {
        held.set(stake);
        if (left) {
            end(CallPermit.Ending.FAILED);
            // Nobody listens; an end without an answer would become an error on the way, and be logged.
            return Mono.never();
        }
        return call.map(answer -> answered(stake, answer))
                .doOnError(failure -> end(CallPermit.Ending.FAILED))
                .switchIfEmpty(Mono.fromRunnable(() -> end(CallPermit.Ending.FAILED)));
    }

    private ClientResponse answered(CallPermit stake, ClientResponse answer) {
        try {
            stake.answered(answer);
        } catch (RuntimeException refused) {
            // Nobody else will ever see the answer.
            DiscardedBody.release(answer);
            throw refused;
        }
        return answer.mutate().body(body -> read(stake, body)).build();
    }

    private Flux<DataBuffer> read(CallPermit stake, Flux<DataBuffer> body) {
        return Flux.defer(() -> {
            reading = true;
            return body.doOnNext(stake::read)
                    .doOnTerminate(() -> end(CallPermit.Ending.READ))
                    .doOnCancel(() -> end(CallPermit.Ending.READ));
        });
    }

    private void leave() {
        left = true;
        if (!reading) {
            end(CallPermit.Ending.GIVEN_UP);
        }
    }

    private void end(CallPermit.Ending ending) {
        CallPermit stake = held.getAndSet(null);
        if (stake != null) {
            stake.end(ending);
        }
    }
}

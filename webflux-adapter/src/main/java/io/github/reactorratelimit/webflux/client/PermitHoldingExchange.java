package io.github.reactorratelimit.webflux.client;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A call that holds a permit until its answer was read.
 *
 * <p>Why the permit ends exactly once. It is put into {@code held} before the call is subscribed, and the caller that takes
 * it out ends it. So only the way into {@code held} and the moments of taking matter:
 *
 * <ul>
 *   <li>A permit that arrives after a cancel is found by {@code call}: {@code left} is written before {@code held} is
 *       read, and read after {@code held} was written, so that at least one of the two sees the other.
 *   <li>A call that fails, or completes without an answer, takes it.
 *   <li>A cancel takes it, unless the body is being read. The connector of {@code WebClient} does the same with the body:
 *       a body that was not subscribed to before the cancel is released. If both happen together, {@code reading} decides:
 *       it is written before the body is subscribed, and a cancelled caller also cancels its subscription to the body.
 *   <li>A body takes it when it ends, fails or is cancelled, before that is signalled: a caller that starts over finds the
 *       permits available.
 * </ul>
 *
 * <p>An answer whose body is never read keeps the permit, as it keeps its connection.
 */
final class PermitHoldingExchange {

    private final AtomicReference<@Nullable CallPermit> held = new AtomicReference<>();

    private volatile boolean left;
    private volatile boolean reading;

    private PermitHoldingExchange() {}

    /** Calls with the permit that {@code grant} yields, which ends with the call. */
    static <G> Mono<ClientResponse> of(Mono<G> grant, Function<G, CallPermit> permit, Mono<ClientResponse> call) {
        return Mono.defer(() -> {
            PermitHoldingExchange until = new PermitHoldingExchange();
            return grant.flatMap(granted -> until.call(permit.apply(granted), call))
                    .doOnCancel(until::leave);
        });
    }

    private Mono<ClientResponse> call(CallPermit permit, Mono<ClientResponse> call) {
        held.set(permit);
        if (left) {
            end(CallPermit.Ending.FAILED);
            // The caller has left; completing without an answer would be logged as an error.
            return Mono.never();
        }
        return call.map(answer -> answered(permit, answer))
                .doOnError(failure -> end(CallPermit.Ending.FAILED))
                .switchIfEmpty(Mono.fromRunnable(() -> end(CallPermit.Ending.FAILED)));
    }

    private ClientResponse answered(CallPermit permit, ClientResponse answer) {
        try {
            permit.answered(answer);
        } catch (RuntimeException refused) {
            // No caller gets the answer.
            DiscardedBody.release(answer);
            throw refused;
        }
        return answer.mutate().body(body -> read(permit, body)).build();
    }

    private Flux<DataBuffer> read(CallPermit permit, Flux<DataBuffer> body) {
        return Flux.defer(() -> {
            reading = true;
            return body.doOnNext(permit::read)
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
        CallPermit permit = held.getAndSet(null);
        if (permit != null) {
            permit.end(ending);
        }
    }
}

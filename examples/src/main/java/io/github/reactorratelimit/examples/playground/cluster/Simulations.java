package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.examples.playground.Running;
import io.github.reactorratelimit.examples.playground.cluster.Simulation.Deed;
import io.lettuce.core.RedisException;
import java.io.UncheckedIOException;
import java.util.concurrent.RejectedExecutionException;
import org.springframework.http.HttpStatus;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The simulations of the cluster's tab, with one Redis each at most. */
@Component("clusterSimulations")
final class Simulations extends Running<Settings, Simulation> {

    private final Scheduler scheduler;

    Simulations(Scheduler simulationScheduler) {
        this.scheduler = simulationScheduler;
    }

    /** The first event of a stream. */
    record Hello(String simulation) {}

    @Override
    public Flux<ServerSentEvent<Object>> start(Settings settings) {
        return start(() -> new Simulation(settings, scheduler), Hello::new);
    }

    /** Answered with 503 and the reason where no Redis can be started. */
    Mono<Void> redis(String id, Deed deed) {
        return Mono.defer(() -> find(id).redis(deed))
                .onErrorMap(
                        RejectedExecutionException.class,
                        gone -> new ResponseStatusException(HttpStatus.NOT_FOUND, "the simulation has just ended"))
                .onErrorMap(
                        failure -> failure instanceof IllegalStateException
                                || failure instanceof UncheckedIOException
                                || failure instanceof RedisException,
                        failure -> new ResponseStatusException(
                                HttpStatus.SERVICE_UNAVAILABLE, failure.getMessage(), failure));
    }
}

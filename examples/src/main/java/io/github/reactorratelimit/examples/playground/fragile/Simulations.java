package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.examples.playground.Running;
import java.util.random.RandomGenerator;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;

/** The simulations of the second tab. */
@Component("fragileSimulations")
final class Simulations extends Running<Settings, Simulation> {

    private final Scheduler scheduler;

    Simulations(Scheduler simulationScheduler) {
        this.scheduler = simulationScheduler;
    }

    /** The first event of a stream. */
    record Hello(String simulation) {}

    @Override
    public Flux<ServerSentEvent<Object>> start(Settings settings) {
        return start(() -> new Simulation(settings, scheduler, RandomGenerator.of("L64X128MixRandom")), Hello::new);
    }
}

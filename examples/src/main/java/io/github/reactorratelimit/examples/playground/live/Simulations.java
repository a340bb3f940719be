package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Running;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;

/** The simulations of the first tab. */
@Component
final class Simulations extends Running<Settings, Simulation> {

    private final Scheduler scheduler;

    Simulations(Scheduler simulationScheduler) {
        this.scheduler = simulationScheduler;
    }

    /** The first event of a stream. */
    record Hello(String simulation, List<String> policies) {}

    @Override
    public Flux<ServerSentEvent<Object>> start(Settings settings) {
        List<String> policies = Arrays.stream(Kind.values()).map(Fields::textOf).toList();
        return start(
                () -> new Simulation(settings, scheduler, RandomGenerator.of("L64X128MixRandom")),
                id -> new Hello(id, policies));
    }
}

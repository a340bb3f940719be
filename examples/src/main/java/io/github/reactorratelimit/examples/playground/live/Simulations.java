package io.github.reactorratelimit.examples.playground.live;

import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;

/**
 * The simulations that run, each as long as somebody takes its frames. How many there may be is said in {@code
 * application.yml}, by a limit on the requests that start them.
 */
@Component
final class Simulations {

    private final Map<String, Simulation> running = new ConcurrentHashMap<>();
    private final Scheduler scheduler;

    Simulations(Scheduler simulationScheduler) {
        this.scheduler = simulationScheduler;
    }

    /** A simulation that begins with the subscription and ends with it. */
    Flux<Started> start(Settings settings) {
        return Flux.using(
                () -> open(settings),
                id -> Flux.concat(
                        Flux.just(new Started(id, null)), find(id).frames().map(frame -> new Started(id, frame))),
                this::close);
    }

    /** The simulation's name, and from the second signal on a frame of it. */
    record Started(String id, @Nullable Frame frame) {}

    Simulation find(String id) {
        Simulation simulation = running.get(id);
        if (simulation == null) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND, "there is no such simulation: its page has gone");
        }
        return simulation;
    }

    int size() {
        return running.size();
    }

    private String open(Settings settings) {
        String id = UUID.randomUUID().toString();
        running.put(id, new Simulation(settings, scheduler, RandomGenerator.of("L64X128MixRandom")));
        return id;
    }

    private void close(String id) {
        Simulation ended = running.remove(id);
        if (ended != null) {
            ended.close();
        }
    }
}

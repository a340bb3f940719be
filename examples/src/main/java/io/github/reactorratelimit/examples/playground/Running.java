package io.github.reactorratelimit.examples.playground;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.springframework.http.HttpStatus;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/**
 * The simulations of a tab that run, each as long as somebody takes its frames. How many there may be is said in {@code
 * application.yml}, by a limit on the requests that start them.
 */
public abstract class Running<T, S extends Simulated<T>> {

    private final Map<String, S> running = new ConcurrentHashMap<>();

    /** A simulation with these settings, of which {@link #start(Supplier, Function)} tells more. */
    public abstract Flux<ServerSentEvent<Object>> start(T settings);

    /**
     * A simulation that begins with the subscription and ends with it: first an event {@code hello}, then one with its {@code history}, if it has one,
     * then its frames.
     *
     * @param greeting what {@code hello} says, made from the simulation's name
     */
    protected Flux<ServerSentEvent<Object>> start(Supplier<S> made, Function<String, ?> greeting) {
        return Flux.using(
                        () -> open(made.get()),
                        opened -> Flux.concat(
                                Flux.just(event("hello", greeting.apply(opened.id()))),
                                opened.history().isEmpty()
                                        ? Flux.empty()
                                        : Flux.just(event("history", opened.history())),
                                opened.simulation().frames().map(frame -> event("frame", frame))),
                        opened -> close(opened.id()))
                // A history takes some milliseconds, in which a connection's thread has other things to do.
                .subscribeOn(Schedulers.parallel(), false);
    }

    private record Opened<S>(String id, S simulation, List<?> history) {}

    private static ServerSentEvent<Object> event(String name, Object data) {
        return ServerSentEvent.builder(data).event(name).build();
    }

    /** Answered with 404 if there is none of that name. */
    public S find(String id) {
        S simulation = running.get(id);
        if (simulation == null) {
            throw gone("there is no such simulation: its page has gone");
        }
        return simulation;
    }

    /** Does something to a simulation. Answered with 404 if it is gone, or is just going. */
    public void command(String id, Consumer<S> command) {
        try {
            command.accept(find(id));
        } catch (RejectedExecutionException closed) {
            throw gone("the simulation has just ended");
        }
    }

    /** How many run. */
    public int size() {
        return running.size();
    }

    private static ResponseStatusException gone(String detail) {
        return new ResponseStatusException(HttpStatus.NOT_FOUND, detail);
    }

    /** No command can reach it before its history is over. */
    private Opened<S> open(S simulation) {
        List<?> history = simulation.history();
        String id = UUID.randomUUID().toString();
        running.put(id, simulation);
        return new Opened<>(id, simulation, history);
    }

    private void close(String id) {
        S ended = running.remove(id);
        if (ended != null) {
            ended.close();
        }
    }
}

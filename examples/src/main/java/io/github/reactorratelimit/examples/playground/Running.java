package io.github.reactorratelimit.examples.playground;

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

/**
 * The simulations of a tab that run, each as long as somebody takes its frames. How many there may be is said in {@code
 * application.yml}, by a limit on the requests that start them.
 */
public class Running<S extends Simulated> {

    private final Map<String, S> running = new ConcurrentHashMap<>();

    /**
     * A simulation that begins with the subscription and ends with it: first an event {@code hello}, then its frames.
     *
     * @param greeting what {@code hello} says, made from the simulation's name
     */
    protected Flux<ServerSentEvent<Object>> start(Supplier<S> made, Function<String, ?> greeting) {
        return Flux.using(
                () -> open(made.get()),
                id -> Flux.concat(
                        Flux.just(event("hello", greeting.apply(id))),
                        find(id).frames().map(frame -> event("frame", frame))),
                this::close);
    }

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

    private String open(S simulation) {
        String id = UUID.randomUUID().toString();
        running.put(id, simulation);
        return id;
    }

    private void close(String id) {
        S ended = running.remove(id);
        if (ended != null) {
            ended.close();
        }
    }
}

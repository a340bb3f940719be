package io.github.reactorratelimit.examples.playground;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import reactor.core.publisher.Flux;

/** What the page of every tab may ask of its simulations, each of which has settings of type {@code T}. */
public abstract class SimulationController<T, S extends Simulated<T>> {

    private final Running<T, S> simulations;
    private final Function<Map<String, @Nullable Object>, T> settings;

    /** @param settings reads and checks what a page sent */
    protected SimulationController(Running<T, S> simulations, Function<Map<String, @Nullable Object>, T> settings) {
        this.simulations = simulations;
        this.settings = settings;
    }

    /** A simulation that runs as long as its page takes what happens in it. */
    @PostMapping(produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    public final Flux<ServerSentEvent<Object>> start(@RequestBody Map<String, @Nullable Object> json) {
        return simulations.start(settings.apply(json));
    }

    /** Changes the settings of a simulation that runs. */
    @PutMapping("/{id}/settings")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    public final void change(@PathVariable String id, @RequestBody Map<String, @Nullable Object> json) {
        T changed = settings.apply(json);
        simulations.command(id, simulation -> simulation.change(changed));
    }

    /** What limiters and servers counted themselves. */
    @GetMapping("/{id}/totals")
    public final List<?> totals(@PathVariable String id) {
        return simulations.find(id).totals();
    }
}

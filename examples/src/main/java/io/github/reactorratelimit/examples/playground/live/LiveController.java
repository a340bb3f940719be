package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.Fields;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Flux;

/** What the page of the first tab may ask for. */
@RestController
@RequestMapping("/api/live")
final class LiveController {

    private static final int MOST_AT_ONCE = 50;

    private final Simulations simulations;

    LiveController(Simulations simulations) {
        this.simulations = simulations;
    }

    @PostMapping(produces = MediaType.TEXT_EVENT_STREAM_VALUE)
    Flux<ServerSentEvent<Object>> start(@RequestBody Map<String, @Nullable Object> settings) {
        return simulations.start(Settings.of(settings));
    }

    @PutMapping("/{id}/settings")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void change(@PathVariable String id, @RequestBody Map<String, @Nullable Object> settings) {
        Settings changed = Settings.of(settings);
        simulations.command(id, simulation -> simulation.change(changed));
    }

    @PostMapping("/{id}/clicks")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void click(@PathVariable String id, @RequestBody Map<String, @Nullable Object> body) {
        Fields fields = new Fields(body);
        int requests = fields.integer("requests", 1, MOST_AT_ONCE);
        fields.nothingElse();
        simulations.command(id, simulation -> simulation.click(requests));
    }

    @PostMapping("/{id}/pause")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void pause(@PathVariable String id, @RequestBody Map<String, @Nullable Object> body) {
        Fields fields = new Fields(body);
        Duration duration = Duration.ofMillis(fields.integer("millis", 0, 10_000));
        fields.nothingElse();
        simulations.command(id, simulation -> simulation.pause(duration));
    }

    @PostMapping("/{id}/cancel")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void cancel(@PathVariable String id) {
        simulations.command(id, Simulation::cancelEveryOther);
    }

    /** What the limiters counted themselves. */
    @GetMapping("/{id}/totals")
    List<Frame.Totals> totals(@PathVariable String id) {
        return simulations.find(id).totals();
    }
}

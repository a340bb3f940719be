package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.SimulationController;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** What the page of the first tab may ask for. */
@RestController
@RequestMapping("/api/live")
final class LiveController extends SimulationController<Settings, Simulation> {

    private static final int MOST_AT_ONCE = 50;

    private final Simulations simulations;

    LiveController(Simulations simulations) {
        super(simulations, Settings::of);
        this.simulations = simulations;
    }

    @PostMapping("/{id}/clicks")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void click(@PathVariable String id, @RequestBody Map<String, @Nullable Object> body) {
        int requests = Fields.onlyInteger(body, "requests", 1, MOST_AT_ONCE);
        simulations.command(id, simulation -> simulation.click(requests));
    }

    @PostMapping("/{id}/pause")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void pause(@PathVariable String id, @RequestBody Map<String, @Nullable Object> body) {
        Duration duration = Duration.ofMillis(Fields.onlyInteger(body, "millis", 0, 10_000));
        simulations.command(id, simulation -> simulation.pause(duration));
    }

    @PostMapping("/{id}/cancel")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    void cancel(@PathVariable String id) {
        simulations.command(id, Simulation::cancelEveryOther);
    }
}

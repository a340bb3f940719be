package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.cluster.Simulation.Deed;
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
import reactor.core.publisher.Mono;

/** What the page of the cluster's tab may ask for. */
@RestController
@RequestMapping("/api/cluster")
final class ClusterController {

    private final Simulations simulations;

    ClusterController(Simulations simulations) {
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

    /** Answered when it is done. */
    @PostMapping("/{id}/redis")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    Mono<Void> redis(@PathVariable String id, @RequestBody Map<String, @Nullable Object> body) {
        Fields fields = new Fields(body);
        Deed deed = fields.choice("deed", Deed.class);
        fields.nothingElse();
        return simulations.redis(id, deed);
    }

    /** What the limiters counted themselves. */
    @GetMapping("/{id}/totals")
    List<Frame.Totals> totals(@PathVariable String id) {
        return simulations.find(id).totals();
    }
}

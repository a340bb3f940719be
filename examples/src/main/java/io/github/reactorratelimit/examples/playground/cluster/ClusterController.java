package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.SimulationController;
import io.github.reactorratelimit.examples.playground.cluster.Simulation.Deed;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** What the page of the cluster's tab may ask for. */
@RestController
@RequestMapping("/api/cluster")
final class ClusterController extends SimulationController<Settings, Simulation> {

    private final Simulations simulations;

    ClusterController(Simulations simulations) {
        super(simulations, Settings::of);
        this.simulations = simulations;
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
}

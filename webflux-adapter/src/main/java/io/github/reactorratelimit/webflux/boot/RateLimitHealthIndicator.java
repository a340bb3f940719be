package io.github.reactorratelimit.webflux.boot;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.ReactiveHealthIndicator;
import org.springframework.boot.health.contributor.Status;
import reactor.core.publisher.Mono;

/**
 * Shows whether the limits can be decided where they live. A store that is away does not take the application down: requests are answered
 * as the limits say, and every instance would be taken out at once. So that is {@link #DEGRADED}, which Boot counts as less grave than
 * {@code UP} unless {@code management.endpoint.health.status.order} says otherwise.
 */
final class RateLimitHealthIndicator implements ReactiveHealthIndicator {

    /** The store does not answer, or not as it should: limits answer without it. */
    static final Status DEGRADED = new Status("DEGRADED", "limits are decided without their store");

    private final RateLimits limits;

    RateLimitHealthIndicator(RateLimits limits) {
        this.limits = limits;
    }

    @Override
    public Mono<Health> health() {
        SharedStore shared = limits.shared();
        if (shared == null) {
            return Mono.just(Health.up().withDetail("store", "local").build());
        }
        return shared.condition()
                .map(condition -> Health.status(condition.works() ? Status.UP : DEGRADED)
                        .withDetail("store", "redis")
                        .withDetail("findings", condition.findings())
                        .build());
    }
}

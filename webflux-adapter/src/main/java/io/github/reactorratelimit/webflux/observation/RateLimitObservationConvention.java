package io.github.reactorratelimit.webflux.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/** Names an observation of a decision, and says which key values it has. A bean of this type replaces the default one. */
public interface RateLimitObservationConvention extends ObservationConvention<RateLimitObservationContext> {

    @Override
    default boolean supportsContext(Observation.Context context) {
        return context instanceof RateLimitObservationContext;
    }
}

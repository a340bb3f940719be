package io.github.reactorratelimit.webflux.observation;

import io.github.reactorratelimit.webflux.observation.RateLimitObservation.LowCardinality;
import io.micrometer.common.KeyValues;
import java.util.Locale;

/** {@code ratelimit.requests} with {@code limiter} and {@code outcome}; to be extended for more key values. */
public class DefaultRateLimitObservationConvention implements RateLimitObservationConvention {

    /** The name of the observation, and of the timer that Micrometer makes of it. */
    public static final String NAME = "ratelimit.requests";

    @Override
    public String getName() {
        return NAME;
    }

    @Override
    public String getContextualName(RateLimitObservationContext context) {
        return "ratelimit " + String.join(",", context.limits());
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(RateLimitObservationContext context) {
        return KeyValues.of(
                LowCardinality.LIMITER.withValue(
                        context.deniedBy().orElseGet(() -> String.join(",", context.limits()))),
                LowCardinality.OUTCOME.withValue(
                        context.outcome().name().toLowerCase(Locale.ROOT).replace('_', '-')));
    }
}

package io.github.reactorratelimit.webflux.observation;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;

/** The observations of this module. */
public enum RateLimitObservation implements ObservationDocumentation {

    /** A decision about a request by all limits that apply to it at one place, waits included. */
    REQUEST {
        @Override
        public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
            return DefaultRateLimitObservationConvention.class;
        }

        @Override
        public KeyName[] getLowCardinalityKeyNames() {
            return LowCardinality.values();
        }
    };

    /** Key values of which there are few: as many as limits are configured, and outcomes. Never the key of a caller. */
    public enum LowCardinality implements KeyName {

        /** The limit that did not let the request pass, or else all that were asked, with commas. */
        LIMITER("limiter"),

        /** How it ended: {@code allowed}, {@code denied}, {@code missing-key}, {@code unavailable}, {@code cancelled} or {@code error}. */
        OUTCOME("outcome");

        private final String text;

        LowCardinality(String text) {
            this.text = text;
        }

        @Override
        public String asString() {
            return text;
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import static io.github.reactorratelimit.webflux.observation.RateLimitObservationContext.Outcome.ALLOWED;
import static io.github.reactorratelimit.webflux.observation.RateLimitObservationContext.Outcome.DENIED;
import static io.micrometer.observation.tck.TestObservationRegistryAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.observation.DefaultRateLimitObservationConvention;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationContext;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationConvention;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationView;
import io.micrometer.observation.tck.TestObservationRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** A Boot application on a real server, whose registry hears of the decisions. */
class ObservedApplicationTest {

    private static final String ONE = "reactor-ratelimit.limits: {per-client: {key: ip, limit: 1 per day}}\n";

    @Configuration(proxyBeanMethods = false)
    static class Watched {

        final List<RateLimitObservationContext> seen = new CopyOnWriteArrayList<>();

        @Bean
        TestObservationRegistry observations() {
            TestObservationRegistry registry = TestObservationRegistry.create();
            registry.observationConfig().observationHandler(new ObservationHandler<RateLimitObservationContext>() {
                @Override
                public void onStop(RateLimitObservationContext context) {
                    seen.add(context);
                }

                @Override
                public boolean supportsContext(Observation.Context context) {
                    return context instanceof RateLimitObservationContext;
                }
            });
            return registry;
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Named {

        @Bean
        RateLimitObservationConvention convention() {
            return new DefaultRateLimitObservationConvention() {
                @Override
                public String getName() {
                    return "own.name";
                }
            };
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Metered {

        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }
    }

    @Test
    void decisionsAreBelowTheRequestsAndDoNotTellTheCaller() {
        try (WebApplication application = WebApplication.start(ONE, Watched.class)) {
            assertThat(application.statuses(2, "/hello")).containsExactly(200, 429);
            List<RateLimitObservationContext> seen = application.bean(Watched.class).seen;
            assertThat(seen).extracting(RateLimitObservationContext::outcome).containsExactly(ALLOWED, DENIED);
            assertThat(seen).allSatisfy(context -> {
                ObservationView parent = context.getParentObservation();
                assertThat(parent.getContextView().getName()).isEqualTo("http.server.requests");
                assertThat(context.getAllKeyValues().toString())
                        .contains("per-client")
                        .doesNotContain("127.0.0.1");
            });
        }
    }

    @Test
    void aConventionOfTheApplicationNamesThem() {
        try (WebApplication application = WebApplication.start(ONE, Watched.class, Named.class)) {
            application.get("/hello");
            assertThat(application.bean(TestObservationRegistry.class)).hasObservationWithNameEqualTo("own.name");
        }
    }

    @Test
    void micrometerMakesATimerOfThem() {
        try (WebApplication application = WebApplication.start(ONE, Metered.class)) {
            application.statuses(3, "/hello");
            assertThat(application
                            .bean(MeterRegistry.class)
                            .get("ratelimit.requests")
                            .tags("limiter", "per-client", "outcome", "denied")
                            .timer()
                            .count())
                    .isEqualTo(2);
        }
    }

    @Test
    void theyCanBeTurnedOff() {
        String off = "management.observations.enable.ratelimit: false\n";
        try (WebApplication application = WebApplication.start(ONE + off, Metered.class)) {
            application.statuses(3, "/hello");
            assertThat(application
                            .bean(MeterRegistry.class)
                            .find("ratelimit.requests")
                            .timer())
                    .isNull();
        }
    }
}

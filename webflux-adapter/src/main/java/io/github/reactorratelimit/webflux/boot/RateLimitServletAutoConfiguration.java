package io.github.reactorratelimit.webflux.boot;

import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/** Refuses limits in an application of Spring MVC, whose requests nothing of ours sees. Names no type of WebFlux, which may not be on the class path. */
@AutoConfiguration
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", matchIfMissing = true)
public class RateLimitServletAutoConfiguration {

    private static final String LIMITS = "reactor-ratelimit.limits";

    RateLimitServletAutoConfiguration(Environment environment) {
        PropertyChecks.check(
                !Binder.get(environment)
                        .bind(LIMITS, Bindable.mapOf(String.class, Object.class))
                        .isBound(),
                LIMITS,
                "are for WebFlux applications, and this one is of Spring MVC, whose requests would all pass. Use spring-boot-starter-webflux"
                        + " without spring-boot-starter-webmvc, or set spring.main.web-application-type: reactive if both are on the class"
                        + " path; or set reactor-ratelimit.enabled: false");
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimited;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Controller;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Refuses limits in an application of Spring MVC, whose requests nothing of ours sees: in its properties, as beans, or on its
 * controllers. Names no type of WebFlux, which may not be on the class path.
 */
@AutoConfiguration
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", matchIfMissing = true)
public class RateLimitServletAutoConfiguration {

    private static final String LIMITS = "reactor-ratelimit.limits";

    RateLimitServletAutoConfiguration(Environment environment, ListableBeanFactory beans) {
        if (Binder.get(environment)
                .bind(LIMITS, Bindable.mapOf(String.class, Object.class))
                .isBound()) {
            throw refused(LIMITS, "are");
        }
        for (String rule : beans.getBeanNamesForType(RateLimitRule.class, true, false)) {
            throw refused("bean " + rule, "is a rule");
        }
        for (String controller : beans.getBeanNamesForAnnotation(Controller.class)) {
            if (isLimited(beans.getType(controller, false))) {
                throw refused("bean " + controller, "has @RateLimited, which is");
            }
        }
    }

    private static boolean isLimited(@Nullable Class<?> controller) {
        if (controller == null) {
            return false;
        }
        Class<?> type = ClassUtils.getUserClass(controller);
        if (AnnotatedElementUtils.hasAnnotation(type, RateLimited.class)) {
            return true;
        }
        for (var method : ReflectionUtils.getUniqueDeclaredMethods(type)) {
            if (AnnotatedElementUtils.hasAnnotation(method, RateLimited.class)) {
                return true;
            }
        }
        return false;
    }

    private static RateLimitConfigurationException refused(String what, String is) {
        return new RateLimitConfigurationException(
                what,
                is + " for WebFlux applications, and this one is of Spring MVC, whose requests would all pass. Use"
                        + " spring-boot-starter-webflux without spring-boot-starter-webmvc, or set"
                        + " spring.main.web-application-type: reactive if both are on the class path; or set"
                        + " reactor-ratelimit.enabled: false");
    }
}

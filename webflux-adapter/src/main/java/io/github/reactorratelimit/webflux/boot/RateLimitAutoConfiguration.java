package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.micrometer.MicrometerRecorder;
import io.github.reactorratelimit.webflux.DenialCors;
import io.github.reactorratelimit.webflux.HeaderOptions;
import io.github.reactorratelimit.webflux.RateLimitDeniedHandler;
import io.github.reactorratelimit.webflux.RateLimitEngine;
import io.github.reactorratelimit.webflux.RateLimitEngineBuilder;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.RateLimitWebFilter;
import io.github.reactorratelimit.webflux.RateLimitedHandlerAdapter;
import io.github.reactorratelimit.webflux.boot.LimitProperties.StoreKind;
import io.github.reactorratelimit.webflux.boot.RateLimitProperties.StandardFields;
import io.github.reactorratelimit.webflux.key.ClientAddress;
import io.github.reactorratelimit.webflux.key.WebKey;
import io.github.reactorratelimit.webflux.observation.RateLimitObservationConvention;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.cloud.context.environment.EnvironmentChangeEvent;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.event.GenericApplicationListener;
import org.springframework.util.ClassUtils;
import org.springframework.web.cors.reactive.CorsConfigurationSource;
import org.springframework.web.reactive.DispatcherHandler;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Limits the requests of a WebFlux application by its {@code reactor-ratelimit.*} properties and its {@link RateLimitRule} beans. Every bean gives
 * way to one of the application.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.webflux.autoconfigure.WebFluxAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration"
        })
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", matchIfMissing = true)
@Import(ClientAddressConfiguration.class)
@ImportRuntimeHints(RateLimitRuntimeHints.class)
public class RateLimitAutoConfiguration {

    static final String ENDPOINT = "org.springframework.boot.actuate.endpoint.annotation.Endpoint";

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    RateLimits configuredRateLimits(
            RateLimitProperties properties,
            ClientAddress address,
            ObjectProvider<LimitRecorders> recorders,
            @Qualifier("requestMappingHandlerMapping") ObjectProvider<RequestMappingHandlerMapping> mappings,
            ApplicationContext application) {
        LimitKey.Maker keys = new LimitKey.Maker(address, parser(mappings), name -> bean(application, name));
        Supplier<SharedStore> redis = RedisSharedStore.find(properties.redis(), application);
        boolean shown = ClassUtils.isPresent(ENDPOINT, RateLimitAutoConfiguration.class.getClassLoader());
        RateLimits limits = new RateLimits(
                properties,
                () -> PropertyReader.read(application.getEnvironment()),
                new LimitFactory(
                        keys,
                        new LimitStores(properties, redis),
                        recorders.getIfAvailable(() -> name -> RateLimitRecorder.NOOP),
                        ClientAddressFactory.exempt(properties.allowList(), address),
                        shown ? properties.actuator().hotKeys() : 0));
        if (!properties.limits().isEmpty()) {
            logLocations(
                    limits,
                    redis == null && properties.store() == null && RedisSharedStore.hasConnectionFactory(application));
        }
        return limits;
    }

    /** Limits should not seem to be shared if they are not. */
    private static void logLocations(RateLimits limits, boolean shareable) {
        LOG.info(
                "Rate limits in Redis: {}; in this process: {}",
                limits.namesIn(StoreKind.REDIS),
                limits.namesIn(StoreKind.LOCAL));
        if (shareable) {
            LOG.warn(
                    "Rate limits are not shared through the application's Redis, because Lettuce is not on the class path: add"
                            + " io.lettuce:lettuce-core and set reactor-ratelimit.redis.uri, or reactor-ratelimit.store: local if each"
                            + " instance is to have its own");
        }
    }

    private static WebKey bean(ListableBeanFactory beans, String name) {
        TreeSet<String> known = new TreeSet<>(List.of(beans.getBeanNamesForType(WebKey.class)));
        if (!known.contains(name)) {
            throw new IllegalArgumentException("there is no bean '" + name + "' of type WebKey; there are " + known);
        }
        return beans.getBean(name, WebKey.class);
    }

    private static PathPatternParser parser(ObjectProvider<RequestMappingHandlerMapping> mappings) {
        RequestMappingHandlerMapping mapping = mappings.getIfAvailable();
        return mapping == null ? PathPatternParser.defaultInstance : mapping.getPathPatternParser();
    }

    /** By both places where an application has its CORS settings: a source for a filter, and the handler mappings. */
    @Bean
    @ConditionalOnMissingBean
    DenialCors rateLimitDenialCors(
            ObjectProvider<CorsConfigurationSource> sources, ObjectProvider<DispatcherHandler> dispatchers) {
        CorsConfigurationSource source = sources.getIfUnique();
        DenialCors filters = source == null ? DenialCors.none() : DenialCors.from(source);
        DenialCors handlers = DenialCors.from(() -> mappings(dispatchers));
        return exchange -> filters.write(exchange).then(handlers.write(exchange));
    }

    private static List<HandlerMapping> mappings(ObjectProvider<DispatcherHandler> dispatchers) {
        DispatcherHandler dispatcher = dispatchers.getIfAvailable();
        List<HandlerMapping> mappings = dispatcher == null ? null : dispatcher.getHandlerMappings();
        return mappings == null ? List.of() : mappings;
    }

    @Bean
    @ConditionalOnMissingBean
    RateLimitEngine rateLimitEngine(
            RateLimitProperties properties,
            RateLimits limits,
            ObjectProvider<RateLimitRule> rules,
            DenialCors cors,
            ObjectProvider<RateLimitDeniedHandler> denied,
            ObjectProvider<ObservationRegistry> observations,
            ObjectProvider<RateLimitObservationConvention> conventions,
            @Qualifier("rateLimitManagementRequests") ObjectProvider<Predicate<ServerWebExchange>> managed,
            @Qualifier("requestMappingHandlerMapping") ObjectProvider<RequestMappingHandlerMapping> mappings) {
        List<RateLimitRule> all = new ArrayList<>(limits.rules());
        rules.orderedStream().forEach(rule -> {
            limits.logIfMadeElsewhere(rule);
            all.add(rule);
        });
        RateLimitProperties.Headers sent = properties.headers();
        HeaderOptions headers = PropertyChecks.of(
                "reactor-ratelimit.headers.retry-after-jitter",
                () -> new HeaderOptions(sent.standard() != StandardFields.OFF, sent.legacy(), sent.retryAfterJitter()));
        RateLimitEngineBuilder builder = PropertyChecks.of("class path", RateLimitEngine::builder);
        RateLimitEngineBuilder engine = PropertyChecks.of(
                        "reactor-ratelimit.key-timeout", () -> builder.keyTimeout(properties.keyTimeout()))
                .rules(all)
                .parser(parser(mappings))
                .headers(headers)
                .cors(cors)
                .deniedHandler(denied.getIfAvailable(RateLimitDeniedHandler::problem));
        managed.ifAvailable(engine::onlyWherePathsAreGiven);
        observations.ifAvailable(registry -> engine.observations(registry, conventions.getIfAvailable()));
        return engine.build();
    }

    @Bean
    @ConditionalOnMissingBean(name = "rateLimitWebFilter")
    RateLimitWebFilter rateLimitWebFilter(RateLimitEngine engine) {
        return RateLimitWebFilter.of(engine);
    }

    @Bean
    @ConditionalOnMissingBean(name = "rateLimitAfterAuthenticationWebFilter")
    RateLimitWebFilter rateLimitAfterAuthenticationWebFilter(RateLimitEngine engine) {
        return RateLimitWebFilter.afterAuthentication(engine);
    }

    @Bean
    @ConditionalOnMissingBean
    RateLimitedHandlerAdapter rateLimitedHandlerAdapter(
            RateLimitEngine engine,
            @Qualifier("requestMappingHandlerAdapter") ObjectProvider<RequestMappingHandlerAdapter> controllers) {
        return new RateLimitedHandlerAdapter(engine, () -> Objects.requireNonNull(controllers.getObject()));
    }

    /**
     * A limit that would limit nothing keeps the application from starting, and so does an annotation that names no limit. A
     * limit that is explicit-only is checked where it is named.
     */
    @Bean
    @ConditionalOnMissingBean(name = "rateLimitChecks")
    SmartInitializingSingleton rateLimitChecks(
            RateLimitEngine engine,
            RateLimits limits,
            RateLimitedHandlerAdapter adapter,
            @Qualifier("requestMappingHandlerMapping") ObjectProvider<RequestMappingHandlerMapping> mappings) {
        return () -> {
            for (RateLimitRule rule : limits.rules()) {
                PropertyChecks.check(
                        rule.explicitOnly()
                                || engine.rules().stream().anyMatch(known -> known.limiter() == rule.limiter()),
                        PropertyChecks.limit(rule.name()),
                        "is not among the rules of the application's RateLimitEngine bean, and would limit nothing: give its builder"
                                + " RateLimits.rules(), or remove the limit");
            }
            mappings.ifAvailable(
                    mapping -> adapter.check(mapping.getHandlerMethods().values()));
        };
    }

    /** Spring Cloud's refresh of the environment, where that is on the class path. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(EnvironmentChangeEvent.class)
    static class Refreshing {

        @Bean
        @ConditionalOnMissingBean(name = "rateLimitEnvironmentListener")
        GenericApplicationListener rateLimitEnvironmentListener(RateLimits limits) {
            return GenericApplicationListener.forEventType(
                    EnvironmentChangeEvent.class, event -> limits.refreshAndLog());
        }
    }

    /** Meters, where the application has a registry for them. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    static class Meters {

        @Bean
        @ConditionalOnBean(MeterRegistry.class)
        @ConditionalOnMissingBean
        LimitRecorders rateLimitRecorders(MeterRegistry registry) {
            return name -> MicrometerRecorder.create(registry, name);
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.github.reactorratelimit.webflux.boot.RateLimits.Refreshed;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.PropertySourcesPlaceholdersResolver;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.context.properties.source.UnboundElementsSourceFilter;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.core.env.Environment;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/** Reads the properties again and applies their numbers. With Spring Cloud, its refresh does so too. */
public final class RateLimitRefresher {

    private static final Logger LOG = Loggers.getLogger(RateLimits.class);

    private final RateLimits limits;
    private final Environment environment;

    RateLimitRefresher(RateLimits limits, Environment environment) {
        this.limits = limits;
        this.environment = environment;
    }

    /** {@link RateLimits#refresh} with the properties as they are in the environment now, checked as at the start. */
    public Mono<Refreshed> refresh() {
        return Mono.fromCallable(() -> read(environment))
                .flatMap(limits::refresh)
                .doOnNext(RateLimitRefresher::log);
    }

    static RateLimitProperties read(Environment environment) {
        Binder binder = new Binder(
                ConfigurationPropertySources.get(environment),
                new PropertySourcesPlaceholdersResolver(environment),
                conversion());
        BindHandler strict = new NoUnboundElementsBindHandler(BindHandler.DEFAULT, new UnboundElementsSourceFilter());
        return binder.bindOrCreate("reactor-ratelimit", Bindable.of(RateLimitProperties.class), strict);
    }

    /** One limit, by the names of its properties. */
    static LimitProperties read(Map<String, ?> limit) {
        MapConfigurationPropertySource source = new MapConfigurationPropertySource();
        limit.forEach((name, value) -> source.put("limit." + name, value));
        return new Binder(List.of(source), null, conversion())
                .bind("limit", Bindable.of(LimitProperties.class))
                .get();
    }

    private static ApplicationConversionService conversion() {
        ApplicationConversionService conversion = new ApplicationConversionService();
        conversion.addConverter(new PropertyTextConverter());
        return conversion;
    }

    private static void log(Refreshed refreshed) {
        LOG.info("Rate limits changed: {}", refreshed.changed());
        refreshed.needRestart().forEach(what -> LOG.warn("Takes effect when the application starts again: {}", what));
    }

    private static void log(Throwable error) {
        String outcome = error instanceof RateLimitConfigurationException || error instanceof BindException
                ? "Rate limits stay as they are"
                : "Not all rate limits were changed";
        LOG.error("{}: {}", outcome, error.getMessage(), error);
    }

    /** Refreshes and logs the outcome. */
    void refreshAndLog() {
        refresh().subscribe(done -> {}, refused -> log(refused));
    }
}

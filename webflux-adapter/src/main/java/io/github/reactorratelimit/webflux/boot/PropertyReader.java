package io.github.reactorratelimit.webflux.boot;

import java.util.List;
import java.util.Map;
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

/** Reads properties while the application runs, checked as Boot checks them at the start. */
final class PropertyReader {

    private PropertyReader() {}

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
}

package io.github.reactorratelimit.webflux.boot;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.Environment;

/** Tells in which line of which file the property is that a limit cannot be made of. */
final class RateLimitConfigurationFailureAnalyzer extends AbstractFailureAnalyzer<RateLimitConfigurationException> {

    private final Environment environment;

    RateLimitConfigurationFailureAnalyzer(Environment environment) {
        this.environment = environment;
    }

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, RateLimitConfigurationException cause) {
        ConfigurationProperty found = find(cause.property());
        String origin = found == null || found.getOrigin() == null ? "" : "\n    Origin: " + found.getOrigin();
        return new FailureAnalysis(
                "The rate limits cannot be made of their configuration:\n\n    Property: " + cause.property() + origin
                        + "\n    Reason: " + cause.reason(),
                "Update your application's configuration.",
                cause);
    }

    private @Nullable ConfigurationProperty find(String property) {
        if (!ConfigurationPropertyName.isValid(property)) {
            return null;
        }
        ConfigurationPropertyName name = ConfigurationPropertyName.of(property);
        for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
            ConfigurationProperty found = source.getConfigurationProperty(name);
            if (found != null) {
                return found;
            }
        }
        return null;
    }
}

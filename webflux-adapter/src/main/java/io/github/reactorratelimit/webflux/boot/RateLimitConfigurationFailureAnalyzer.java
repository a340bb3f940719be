package io.github.reactorratelimit.webflux.boot;

import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.PropertyMatches;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.convert.ConversionFailedException;
import org.springframework.core.env.Environment;

/**
 * Names the property that is wrong, with its file and line. Values are named as in a configuration file; Boot's
 * analyzer, which comes later, would name the constants of Java.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class RateLimitConfigurationFailureAnalyzer extends AbstractFailureAnalyzer<Throwable> {

    private static final ConfigurationPropertyName OURS = ConfigurationPropertyName.of("reactor-ratelimit");

    /** The number of letters by which a similar name may differ. */
    private static final int MAX_DISTANCE = 3;

    private final Environment environment;

    RateLimitConfigurationFailureAnalyzer(Environment environment) {
        this.environment = environment;
    }

    @Override
    protected @Nullable FailureAnalysis analyze(Throwable rootFailure, Throwable failure) {
        RateLimitConfigurationException refused = findCause(rootFailure, RateLimitConfigurationException.class);
        if (refused != null) {
            return analysis(refused.property(), refused.reason(), refused);
        }
        UnboundConfigurationPropertiesException unknown =
                findCause(rootFailure, UnboundConfigurationPropertiesException.class);
        if (unknown != null) {
            return unknown.getUnboundProperties().stream()
                    .map(ConfigurationProperty::getName)
                    .filter(OURS::isAncestorOf)
                    .findFirst()
                    .map(name -> analysis(name.toString(), "there is no such property" + similar(name), unknown))
                    .orElse(null);
        }
        BindException unbound = findCause(rootFailure, BindException.class);
        String reason = unbound == null ? null : reasonOf(unbound);
        return unbound == null || reason == null || !OURS.isAncestorOf(unbound.getName())
                ? null
                : analysis(unbound.getName().toString(), reason, unbound);
    }

    /** Similar names, as a hint. */
    private static String similar(ConfigurationPropertyName unknown) {
        Class<?> type = RateLimitProperties.class;
        for (int i = 1; i < unknown.getNumberOfElements() - 1; i++) {
            String element = unknown.getElement(i, Form.UNIFORM);
            if (element.equals("limits") || element.equals("overrides")) {
                type = element.equals("limits") ? LimitProperties.class : LimitProperties.KeyOverride.class;
                i++;
            } else {
                type = Arrays.stream(type.getRecordComponents())
                        .filter(component -> component.getName().equalsIgnoreCase(element))
                        .<Class<?>>map(RecordComponent::getType)
                        .findFirst()
                        .orElse(RateLimitProperties.class);
            }
        }
        String[] matches = PropertyMatches.forField(unknown.getLastElement(Form.UNIFORM), type, MAX_DISTANCE)
                .getPossibleMatches();
        return matches.length == 0
                ? ""
                : "; did you mean "
                        + Arrays.stream(matches)
                                .map(DataObjectPropertyName::toDashedForm)
                                .collect(Collectors.joining(" or "))
                        + "?";
    }

    /** Why a value is refused, in the words of a configuration file; null if another analyzer knows better. */
    static @Nullable String reasonOf(BindException unbound) {
        for (Throwable cause = unbound.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof ConversionFailedException failed) {
                Object[] constants = failed.getTargetType().getType().getEnumConstants();
                return constants == null
                        ? PropertyTextConverter.reasonOf(failed)
                        : "'" + failed.getValue() + "' is none of "
                                + written(failed.getTargetType().getType(), constants);
            }
        }
        return null;
    }

    /** Our constants as in a file, others such as HTTP methods by their names. */
    private static String written(Class<?> type, Object[] constants) {
        boolean ours = type.getName().startsWith("io.github.reactorratelimit.");
        return Arrays.stream(constants)
                .map(constant -> ours ? PropertyChecks.written((Enum<?>) constant) : constant.toString())
                .collect(Collectors.joining(", "));
    }

    private FailureAnalysis analysis(String property, String reason, Throwable cause) {
        ConfigurationProperty found = find(property);
        String origin = found == null || found.getOrigin() == null ? "" : "\n    Origin: " + found.getOrigin();
        return new FailureAnalysis(
                "The rate limits cannot be made of their configuration:\n\n    Property: " + property + origin
                        + "\n    Reason: " + reason,
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

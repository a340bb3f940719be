package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.json.JsonParserFactory;

/** Editors complete the properties and tell what they mean. */
class ConfigurationMetadataTest {

    static List<Map<String, Object>> properties() throws IOException {
        try (InputStream json =
                RateLimitProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            Map<String, Object> metadata =
                    JsonParserFactory.getJsonParser().parseMap(new String(json.readAllBytes(), StandardCharsets.UTF_8));
            @SuppressWarnings("unchecked")
            List<Map<String, Object>> properties = (List<Map<String, Object>>) metadata.get("properties");
            return properties;
        }
    }

    @Test
    void everyPropertyHasADescription() throws IOException {
        assertThat(properties())
                .hasSizeGreaterThan(20)
                .allSatisfy(property -> assertThat((String) property.get("description"))
                        .as((String) property.get("name"))
                        .matches(Pattern.compile("[A-Z].*\\.")));
    }

    /** The processor does not look into lists: these are written by hand, and must be as the records are. */
    @Test
    void whatALimitCanSayIsListed() throws IOException {
        Set<String> listed = properties().stream()
                .map(property -> (String) property.get("name"))
                .filter(name -> name.startsWith("ratelimit.limits[]."))
                .collect(Collectors.toSet());
        assertThat(listed)
                .containsExactlyInAnyOrderElementsOf(Stream.concat(
                                names("ratelimit.limits[].", LimitProperties.class),
                                names("ratelimit.limits[].overrides[].", LimitProperties.KeyOverride.class))
                        .toList());
    }

    @Test
    void whatALimitCanSayHasItsTypeAndDefault() throws IOException {
        Map<String, Map<String, Object>> listed = new LinkedHashMap<>();
        properties().forEach(property -> listed.put((String) property.get("name"), property));
        Map<String, Type> types = Stream.of(LimitProperties.class.getRecordComponents())
                .collect(Collectors.toMap(
                        component -> "ratelimit.limits[]." + DataObjectPropertyName.toDashedForm(component.getName()),
                        component -> component.getGenericType()));
        types.forEach((name, type) -> assertThat(listed.get(name))
                .as(name)
                .containsEntry("type", type == boolean.class ? "java.lang.Boolean" : type.getTypeName()));
        for (RecordComponent component : LimitProperties.class.getRecordComponents()) {
            DefaultValue said = defaultOf(component.getName());
            Object told = listed.get("ratelimit.limits[]." + DataObjectPropertyName.toDashedForm(component.getName()))
                    .get("defaultValue");
            assertThat(told == null ? null : told.toString())
                    .as(component.getName())
                    .isEqualTo(said == null ? null : said.value()[0]);
        }
    }

    private static @Nullable DefaultValue defaultOf(String name) {
        return Stream.of(LimitProperties.class.getDeclaredConstructors()[0].getParameters())
                .filter(parameter -> parameter.getName().equals(name))
                .findFirst()
                .orElseThrow()
                .getAnnotation(DefaultValue.class);
    }

    private static Stream<String> names(String prefix, Class<?> type) {
        return Stream.of(type.getRecordComponents())
                .map(component -> prefix + DataObjectPropertyName.toDashedForm(component.getName()));
    }

    @Test
    void everyPropertyIsListedWithItsDefault() throws IOException {
        Map<String, Object> defaults = new LinkedHashMap<>();
        properties().forEach(property -> defaults.put((String) property.get("name"), property.get("defaultValue")));
        assertThat(defaults)
                .containsEntry("ratelimit.enabled", true)
                .containsEntry("ratelimit.redis.when-unavailable", "closed")
                .containsEntry("ratelimit.redis.deadline", "50ms")
                .containsEntry("ratelimit.actuator.writable", false)
                .containsEntry("ratelimit.client-address.ipv6-prefix", 64)
                .containsKeys("ratelimit.limits", "ratelimit.store", "ratelimit.client-address.trusted-proxies");
    }
}

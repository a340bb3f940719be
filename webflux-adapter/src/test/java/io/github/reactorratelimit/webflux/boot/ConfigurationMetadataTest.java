package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
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

    @Test
    void everyPropertyIsListedWithItsDefault() throws IOException {
        Map<String, Object> defaults = new LinkedHashMap<>();
        properties().forEach(property -> defaults.put((String) property.get("name"), property.get("defaultValue")));
        assertThat(defaults)
                .containsEntry("reactor-ratelimit.enabled", true)
                .containsEntry("reactor-ratelimit.redis.when-unavailable", "closed")
                .containsEntry("reactor-ratelimit.redis.deadline", "50ms")
                .containsEntry("management.endpoint.ratelimits.access", "read_only")
                .containsEntry("reactor-ratelimit.client-address.ipv6-prefix", 64)
                .containsKeys(
                        "reactor-ratelimit.limits",
                        "reactor-ratelimit.store",
                        "reactor-ratelimit.client-address.trusted-proxies");
    }
}

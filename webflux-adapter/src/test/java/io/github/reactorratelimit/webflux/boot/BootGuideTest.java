package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.bind.DefaultValue;

/** What the README and the guide say works as it is written there. */
class BootGuideTest {

    private static final Path ROOT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
    private static final Pattern YAML = Pattern.compile("(?s)```yaml\n(.*?)```");

    private static final Pattern ROW = Pattern.compile("(?m)^\\| `([\\w.-]+)` \\| .* \\| (.*) \\|$");

    private static List<String> blocks(String file) throws IOException {
        return YAML.matcher(Files.readString(ROOT.resolve(file)))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    static Stream<String> blocksOfTheGuide() throws IOException {
        return blocks("docs/webflux-boot.md").stream()
                .filter(block -> block.startsWith("reactor-ratelimit:"))
                .map(block -> block.replace("${INTERNAL_SECRET}", "a-secret-of-some-length"));
    }

    @ParameterizedTest
    @MethodSource("blocksOfTheGuide")
    void everyBlockOfTheGuideCanBeUsed(String yaml) {
        RateLimitProperties properties = BoundProperties.of(yaml);
        if (properties.redis().uri() == null) {
            assertThat(BoundProperties.limits(properties).rules())
                    .hasSize(properties.limits().size());
        } else {
            assertThat(properties.redis().instances()).isPositive();
        }
    }

    /** Each has a row that ends with its default, if it has one. */
    @Test
    void everyPropertyIsInTheGuide() throws IOException {
        Map<String, String> unlessGiven = ROW.matcher(Files.readString(ROOT.resolve("docs/webflux-boot.md")))
                .results()
                .collect(Collectors.toMap(row -> row.group(1), row -> row.group(2)));
        for (Map<String, Object> property : ConfigurationMetadataTest.properties()) {
            String name = (String) property.get("name");
            if (!name.startsWith("management.")) {
                assertThat(unlessGiven).containsKey(name);
                if (property.get("defaultValue") instanceof Comparable<?> value) {
                    assertThat(unlessGiven.get(name)).as(name).contains("`" + value + "`");
                }
            }
        }
        for (Parameter property : LimitProperties.class.getDeclaredConstructors()[0].getParameters()) {
            String name = DataObjectPropertyName.toDashedForm(property.getName());
            DefaultValue value = property.getAnnotation(DefaultValue.class);
            assertThat(unlessGiven).containsKey(name);
            assertThat(unlessGiven.get(name)).as(name).contains(value == null ? "" : "`" + value.value()[0] + "`");
        }
    }

    @Test
    void theFiveLinesOfTheReadmeLimitAnApplication() throws IOException {
        String yaml = blocks("README.md").get(0);
        assertThat(yaml.lines()).hasSize(5);
        try (WebApplication application = WebApplication.start(yaml)) {
            var headers = application.get("/hello").headers();
            assertThat(headers.firstValue("RateLimit-Policy")).contains("\"per-client\";q=100;w=60");
            assertThat(headers.firstValue("RateLimit")).contains("\"per-client\";r=99;t=1");
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the README and the guide say works as it is written there. */
class BootGuideTest {

    private static final Path ROOT =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath().getParent();
    private static final Pattern YAML = Pattern.compile("(?s)```yaml\n(.*?)```");

    private static List<String> blocks(String file) throws IOException {
        return YAML.matcher(Files.readString(ROOT.resolve(file)))
                .results()
                .map(block -> block.group(1))
                .toList();
    }

    static Stream<String> blocksOfTheGuide() throws IOException {
        return blocks("docs/webflux-boot.md").stream()
                .filter(block -> block.startsWith("ratelimit:"))
                .map(block -> block.replace("${INTERNAL_SECRET}", "a-secret-of-some-length"));
    }

    @ParameterizedTest
    @MethodSource("blocksOfTheGuide")
    void everyBlockOfTheGuideCanBeUsed(String yaml) {
        RateLimitProperties properties = BoundProperties.of(yaml);
        if (properties.redis().uri() == null) {
            assertThat(BoundProperties.limits(properties).rules()).hasSameSizeAs(properties.limits());
        } else {
            assertThat(properties.redis().instances()).isPositive();
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

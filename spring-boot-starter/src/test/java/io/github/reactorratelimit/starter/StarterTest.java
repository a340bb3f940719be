package io.github.reactorratelimit.starter;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.util.ClassUtils;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** An application that has nothing but the starter, and the five lines of the README. */
class StarterTest {

    private static final Pattern FIVE_LINES = Pattern.compile("```yaml\\n(reactor-ratelimit:.*?)```", Pattern.DOTALL);
    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>(reactor-ratelimit[\\w-]*)</artifactId>");

    @SpringBootApplication
    @RestController
    static class Application {

        @GetMapping("/hello")
        String hello() {
            return "hello";
        }
    }

    @TempDir
    Path directory;

    private Path configuration() throws IOException {
        Matcher lines = FIVE_LINES.matcher(Files.readString(Path.of("..", "README.md")));
        assertThat(lines.find()).isTrue();
        assertThat(lines.group(1).lines()).hasSize(5);
        return Files.writeString(
                directory.resolve("application.yml"), lines.group(1).replace("100 per", "2 per"));
    }

    private static HttpResponse<String> get(ConfigurableApplicationContext context) throws Exception {
        String port = context.getEnvironment().getProperty("local.server.port");
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/hello"))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void starterAndFiveLinesLimitAnApplication() throws Exception {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
                .properties("server.port=0", "spring.config.location=" + configuration())
                .run()) {
            assertThat(get(context).headers().firstValue("RateLimit-Policy")).contains("\"per-client\";q=2;w=60");
            assertThat(get(context).statusCode()).isEqualTo(200);
            assertThat(get(context).statusCode()).isEqualTo(429);
        }
    }

    @Test
    void starterBringsNothingThatIsOptional() {
        ClassLoader loader = StarterTest.class.getClassLoader();
        for (String optional : new String[] {
            "io.lettuce.core.RedisClient",
            "org.springframework.cloud.gateway.filter.GlobalFilter",
            "org.springframework.boot.actuate.endpoint.annotation.Endpoint"
        }) {
            assertThat(ClassUtils.isPresent(optional, loader)).as(optional).isFalse();
        }
    }

    /** Examples and benchmarks are for nobody to depend on. */
    @Test
    void bomListsEveryModule() throws IOException {
        Set<String> modules;
        try (Stream<Path> poms = Files.list(Path.of(".."))) {
            modules = poms.map(module -> module.resolve("pom.xml"))
                    .filter(Files::exists)
                    .map(StarterTest::artifact)
                    .filter(name -> !name.matches(".*-(examples|benchmarks|bom|parent)"))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
        Set<String> listed = ARTIFACT.matcher(Files.readString(Path.of("..", "bom", "pom.xml")))
                .results()
                .map(found -> found.group(1))
                .filter(name -> !name.endsWith("-bom"))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(listed).isEqualTo(modules);
    }

    private static String artifact(Path pom) {
        try {
            return ARTIFACT.matcher(Files.readString(pom).replaceAll("(?s)<parent>.*?</parent>", ""))
                    .results()
                    .map(found -> found.group(1))
                    .findFirst()
                    .orElse("reactor-ratelimit-parent");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

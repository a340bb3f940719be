package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.testing.Bypass;
import io.github.reactorratelimit.webflux.testing.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.core.io.FileSystemResource;
import org.springframework.util.StringUtils;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.config.ResourceHandlerRegistry;
import org.springframework.web.reactive.config.WebFluxConfigurer;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import reactor.core.publisher.Mono;

/**
 * Attempts to fetch a file whose limit is used up, from handlers that answer many paths and read them in ways of their own, by spelling its
 * path in another way, as {@link BypassTest} tries. A control run without the filter shows which attempts get it.
 */
class WideHandlerBypassTest {

    private static final String SECRET = "the whole file";

    /** What may stand where the path has a slash. */
    private static final List<String> SEPARATORS = List.of(
            "/",
            "//",
            "%2F",
            "%2f",
            "%2F%2F",
            "/%2F",
            "%2F/",
            "%252F",
            "%5C",
            "%5c",
            "/./",
            "/%2e/",
            "%2F.%2F",
            "%2F%2E%2F",
            ";a=1/",
            ";a=1%2F",
            ";/",
            ";a=%2F/");

    private static final List<String> DETOURS = List.of(
            "/x/../downloads/big.bin",
            "/x/%2e%2e/downloads/big.bin",
            "/x%2F..%2Fdownloads%2Fbig.bin",
            "/x%2f%2e%2e%2fdownloads%2fbig.bin",
            "/x%5C..%5Cdownloads%5Cbig.bin",
            "/%2Fx%2F../downloads/big.bin",
            "/x;a=%2F..%2Fdownloads%2Fbig.bin",
            "/x;a=%2F../downloads/big.bin",
            "/x/..;/downloads/big.bin",
            "//downloads/x/../big.bin",
            "//downloads/..;/../big.bin",
            "//downloads%2F%2F..%2Fbig.bin",
            "//downloads/%2F/../big.bin",
            "//downloads/%2E/../big.bin",
            "//downloads/%2E%2F..%2Fbig.bin",
            "/%2Fdownloads%2Fx%2F..%2F.%2Fbig.bin",
            "/x/%252e%252e/downloads/big.bin",
            "/downloads/big.bin/",
            "/downloads/big.bin%2F",
            "/downloads/big.bin%5C",
            "/downloads%2Fbig.bin%2F",
            "/downloads%2Fbig.bin;a=1",
            "/downloads%2Fbig.bin%3Ba=1",
            "/downloads%2Fbig.bin%00",
            "/downloads%2F%62ig.bin",
            "/d%6Fwnloads%2Fbig.bin",
            "/%2F%2Fdownloads%2Fbig.bin");

    /** Servers of the attempts. */
    private static final Map<Application, TestServer> LIMITED = new ConcurrentHashMap<>();

    @TempDir
    Path files;

    @BeforeEach
    void write() throws IOException {
        write(files);
    }

    private static void write(Path files) throws IOException {
        Files.createDirectories(files.resolve("downloads/x"));
        Files.createDirectories(files.resolve("x"));
        Files.createDirectories(files.resolve("other"));
        Files.writeString(files.resolve("downloads/big.bin"), SECRET);
        Files.writeString(files.resolve("other/small.bin"), "small");
    }

    private static List<String> spellings() {
        List<String> attempts = new ArrayList<>(DETOURS);
        for (String first : SEPARATORS) {
            for (String second : List.of("/", "%2F", "%5C", ";a=1/")) {
                attempts.add("/downloads" + first + "big.bin");
                attempts.add((first.startsWith("/") ? "" : "/") + first + "downloads" + second + "big.bin");
            }
        }
        return attempts.stream().distinct().toList();
    }

    record StaticFiles(Path root) implements WebFluxConfigurer {
        @Override
        public void addResourceHandlers(ResourceHandlerRegistry registry) {
            registry.addResourceHandler("/**").addResourceLocations(root.toUri().toString());
        }
    }

    /** Looks for files by what is left of the path, as file servers do that are written by hand. */
    @RestController
    record FileServer(Path root) {
        @GetMapping("/{*rest}")
        Mono<String> file(@PathVariable("rest") String rest) {
            Path file = Path.of(StringUtils.cleanPath(root + "/" + rest));
            return file.startsWith(root) && Files.isRegularFile(file)
                    ? Mono.fromCallable(() -> Files.readString(file))
                    : Mono.just("none");
        }
    }

    enum Application {
        RESOURCE_HANDLER,
        RESOURCES_OF_A_ROUTER,
        CONTROLLER_OF_THE_REST
    }

    private static TestServer start(Application application, Path files, boolean limited) {
        return TestServer.start(context -> {
            switch (application) {
                case RESOURCE_HANDLER -> context.registerBean(StaticFiles.class, () -> new StaticFiles(files));
                case RESOURCES_OF_A_ROUTER ->
                    context.registerBean(
                            RouterFunction.class,
                            () -> RouterFunctions.resources("/**", new FileSystemResource(files + "/")));
                case CONTROLLER_OF_THE_REST -> context.registerBean(FileServer.class, () -> new FileServer(files));
            }
            if (limited) {
                context.registerBean(RateLimitWebFilter.class, () -> RateLimitWebFilter.of(usedUp()));
            }
        });
    }

    private static RateLimitEngine usedUp() {
        RateLimiter limiter = RateLimiter.of(few(1));
        limiter.tryAcquire("*").block();
        return RateLimitEngine.builder()
                .rule(RateLimitRule.named("downloads")
                        .path("/downloads/**")
                        .globalKey()
                        .limiter(limiter)
                        .build())
                .build();
    }

    private static List<String> fetching(TestServer server, List<String> attempts) {
        return attempts.stream()
                .filter(attempt -> server.get(attempt).body().contains(SECRET))
                .toList();
    }

    /** No spelling may fetch a file whose limit is used up. */
    static Stream<Bypass> attempts(Path files) throws IOException {
        write(files);
        return Stream.of(Application.values())
                .flatMap(application -> spellings().stream()
                        .map(spelling -> new Bypass(
                                application + ": " + spelling,
                                () -> fetching(limited(application, files), List.of(spelling))
                                        .size(),
                                0)));
    }

    private static TestServer limited(Application application, Path files) {
        return LIMITED.computeIfAbsent(application, started -> start(started, files, true));
    }

    /** Stops what the attempts have started. */
    static void stop() {
        LIMITED.values().forEach(TestServer::close);
        LIMITED.clear();
    }

    @Test
    void manySpellingsFetchTheFileWhereThereIsNoFilter() {
        Map<Application, List<String>> fetching = new TreeMap<>();
        for (Application application : Application.values()) {
            try (TestServer server = start(application, files, false)) {
                fetching.put(application, fetching(server, spellings()));
            }
        }
        assertThat(fetching)
                .allSatisfy((application, attempts) -> assertThat(attempts)
                        .contains("/downloads/big.bin", "/downloads%2Fbig.bin", "/%2Fdownloads/big.bin"));
        assertThat(fetching.get(Application.CONTROLLER_OF_THE_REST))
                .contains("/downloads%5Cbig.bin", "/x%2F..%2Fdownloads%2Fbig.bin", "//downloads%2F%2F..%2Fbig.bin");
    }

    @Test
    void otherFilesAreNotLimitedHoweverTheirPathsAreSpelled() {
        try (TestServer server = start(Application.RESOURCE_HANDLER, files, true)) {
            assertThat(Stream.of("/other/small.bin", "/other%2Fsmall.bin", "//other/small.bin", "/other/./small.bin"))
                    .allSatisfy(target -> assertThat(server.get(target).body()).isEqualTo("small"));
        }
    }
}

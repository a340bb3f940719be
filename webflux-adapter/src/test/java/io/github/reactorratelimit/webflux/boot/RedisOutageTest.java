package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Redis goes and comes under applications that are asked by several clients all the time, or is not there when they start. */
class RedisOutageTest {

    private static final int CLIENTS = 6;
    private static final String HEALTH = """
            management.endpoints.web.exposure.include: health
            management.endpoint.health.show-details: always
            """;

    private final Standalone redis = Standalone.start();
    private final ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);

    @AfterEach
    void end() {
        clients.shutdownNow();
        redis.close();
    }

    private String yaml(String limit, String whenUnavailable) {
        return """
                reactor-ratelimit.limits:
                  shared: {paths: /hello, key: header:X-Client, limit: %s, missing-key: shared}
                reactor-ratelimit.redis: {uri: 'redis://127.0.0.1:%d', instances: 2, when-unavailable: %s, deadline: 1s}
                """.formatted(limit, redis.uri().getPort(), whenUnavailable) + HEALTH;
    }

    /** Clients that ask one instance after the other until they are told to end, and what they were answered. */
    private final class Traffic {

        private final List<WebApplication> instances;
        private final Map<Integer, AtomicLong> answers = new TreeMap<>();
        private final List<Future<?>> running = new ArrayList<>();
        private volatile boolean ending;

        Traffic(WebApplication... instances) {
            this.instances = List.of(instances);
            for (int client = 0; client < CLIENTS; client++) {
                int first = client;
                running.add(clients.submit((Callable<Void>) () -> {
                    ask(first);
                    return null;
                }));
            }
        }

        private void ask(int first) {
            for (int i = first; !ending; i++) {
                HttpResponse<String> answer =
                        instances.get(i % instances.size()).get("/hello", "X-Client", "traffic");
                count(answer.statusCode());
            }
        }

        private void count(int status) {
            synchronized (answers) {
                answers.computeIfAbsent(status, none -> new AtomicLong()).incrementAndGet();
            }
        }

        long count() {
            synchronized (answers) {
                return answers.values().stream().mapToLong(AtomicLong::get).sum();
            }
        }

        /** Returns when so many more were answered: nobody hangs. */
        void goesOn() {
            long until = count() + 20 * CLIENTS;
            Await.until("more answers", () -> count() >= until);
        }

        /** The statuses of all answers; a request that was not answered is an error here. */
        Set<Integer> end() throws Exception {
            ending = true;
            for (Future<?> client : running) {
                client.get();
            }
            return Set.copyOf(answers.keySet());
        }
    }

    private static boolean isDecidedByRedis(WebApplication application, String client) {
        return application
                .get("/hello", "X-Client", client)
                .headers()
                .firstValue("RateLimit")
                .filter(limit -> limit.matches("\"shared\";r=99\\d+;.*"))
                .isPresent();
    }

    @ParameterizedTest
    @CsvSource({"open, 200, 200", "closed, 200, 503", "local, 200, 200"})
    void noAnswerButTheChosenOneWhileRedisGoesAndComes(String mode, int usual, int without) throws Exception {
        String yaml = yaml("1000000 per hour", mode);
        try (WebApplication one = WebApplication.start(yaml).connected();
                WebApplication other = WebApplication.start(yaml).connected()) {
            Traffic traffic = new Traffic(one, other);
            traffic.goesOn();
            for (int round = 0; round < 2; round++) {
                redis.server().kill();
                for (WebApplication instance : List.of(one, other)) {
                    Await.until("noticed", () -> !isDecidedByRedis(instance, "probe"));
                }
                traffic.goesOn();
                redis.server().restart();
                for (WebApplication instance : List.of(one, other)) {
                    Await.until("Redis decides again", () -> isDecidedByRedis(instance, "probe"));
                }
                traffic.goesOn();
            }
            assertThat(traffic.end()).isSubsetOf(usual, without).contains(usual, without);
        }
    }

    /** A full bucket that hardly refills: what a share of it gives out is told apart from all that Redis would. */
    @Test
    void localSharesBoundWhatIsGivenOutUnderConcurrentTraffic() throws Exception {
        String yaml = yaml("40 per day", "local");
        redis.server().kill();
        try (WebApplication one = WebApplication.start(yaml);
                WebApplication other = WebApplication.start(yaml)) {
            Traffic traffic = new Traffic(one, other);
            traffic.goesOn();
            traffic.goesOn();
            assertThat(traffic.end()).containsExactlyInAnyOrder(200, 429);
            assertThat(traffic.answers.get(200)).hasValue(40);
        }
    }

    @Test
    void twoInstancesUnderConcurrentTrafficGiveOutExactlyTheSharedLimit() throws Exception {
        String yaml = yaml("50 per day", "closed").replace("deadline: 1s", "deadline: 60s");
        try (WebApplication one = WebApplication.start(yaml).connected();
                WebApplication other = WebApplication.start(yaml).connected()) {
            Traffic traffic = new Traffic(one, other);
            traffic.goesOn();
            assertThat(traffic.end()).containsExactlyInAnyOrder(200, 429);
            assertThat(traffic.answers.get(200)).hasValue(50);
        }
    }

    @ParameterizedTest
    @CsvSource({"open, 200", "closed, 503", "local, 200"})
    void anApplicationStartsWithoutRedisAndConnectsWhenItIsThere(String mode, int without) {
        redis.server().kill();
        try (WebApplication application = WebApplication.start(yaml("1000000 per hour", mode))) {
            assertThat(application.statuses(5, "/hello", "X-Client", "some")).containsOnly(without);
            String reason =
                    "cannot connect to Redis at 127.0.0.1:" + redis.uri().getPort();
            Await.until("health says why", () -> health(application).contains(reason));
            assertThat(health(application)).contains("\"status\":\"DEGRADED\"");

            redis.server().restart();
            Await.until("Redis decides", () -> isDecidedByRedis(application, "probe"));
            Await.until("health is up", () -> !health(application).contains("DEGRADED"));
        }
    }

    private static String health(WebApplication application) {
        return application.get("/actuator/health").body();
    }

    @Test
    void soDoesOneThatSharesTheApplicationsOwnRedis() {
        redis.server().kill();
        String limits = """
                reactor-ratelimit.limits: {shared: {paths: /hello, key: header:X-Client, limit: 1000000 per hour}}
                reactor-ratelimit.redis.deadline: 1s
                """;
        List<String> server = List.of(
                "spring.data.redis.host=127.0.0.1",
                "spring.data.redis.port=" + redis.uri().getPort());
        try (WebApplication application = WebApplication.start(limits, server)) {
            assertThat(application.statuses(5, "/hello", "X-Client", "some")).containsOnly(503);
            redis.server().restart();
            Await.until("Redis decides", () -> isDecidedByRedis(application, "probe"));
        }
    }

    @RestController
    static class Held {

        private final AtomicInteger begun = new AtomicInteger();
        private final Sinks.Empty<Void> mayEnd = Sinks.empty();

        @GetMapping("/held")
        Mono<String> held() {
            begun.incrementAndGet();
            return mayEnd.asMono().thenReturn("held");
        }
    }

    @Test
    void aShareOfRequestsAtOneTimeThatIsUsedUpIsALimitAndNoOutage() throws Exception {
        String yaml = """
                reactor-ratelimit.limits: {few: {paths: /held, key: ip, algorithm: concurrency, limit: 1}}
                reactor-ratelimit.redis: {uri: 'redis://127.0.0.1:%d', instances: 1, when-unavailable: local, deadline: 1s}
                """.formatted(redis.uri().getPort());
        try (WebApplication application = WebApplication.start(yaml, Held.class).connected()) {
            redis.server().kill();
            Held handler = application.bean(Held.class);
            Future<HttpResponse<String>> first = clients.submit(() -> application.get("/held"));
            Await.until("it is held", () -> handler.begun.get() == 1);

            assertThat(application.get("/held").statusCode()).isEqualTo(429);

            handler.mayEnd.tryEmitEmpty();
            assertThat(first.get().statusCode()).isEqualTo(200);
        }
    }

    @Test
    void anApplicationThatNeverFoundRedisEnds() {
        redis.server().kill();
        AtomicReference<SharedStore> shared = new AtomicReference<>();
        try (WebApplication application = WebApplication.start(yaml("10 per day", "open"))) {
            shared.set(application.bean(RateLimits.class).shared());
        }
        assertThat(shared.get().close().blockOptional()).isEmpty();
    }
}

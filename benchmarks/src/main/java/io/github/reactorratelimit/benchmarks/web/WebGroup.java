package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import io.github.reactorratelimit.embedded.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Servers under HTTP load, each in a JVM of its own that lives as long as the group, so that it stays warm from round to round. */
final class WebGroup implements BenchmarkGroup {

    private static final String PROCESSOR_TIME = "server's processor time µs";
    private static final String REDIS_TIME = "Redis' processor time µs";
    private static final int CONNECTIONS = 64;
    private static final int ROUNDS_OF_FULL = 9;

    private final Group group;
    private final List<WebEntrant> entrants;
    private final Map<Contender, WebServerProcess> servers = new HashMap<>();
    private @Nullable RedisServer redis;

    WebGroup(Group group, List<WebEntrant> entrants) {
        this.group = group;
        this.entrants = entrants;
    }

    @Override
    public Group group() {
        return group;
    }

    @Override
    public int rounds(Form form) {
        return form == Form.FULL ? ROUNDS_OF_FULL : form.rounds();
    }

    @Override
    public void open(Form form) throws Exception {
        redis = RedisServer.start();
        int redisPort = redis.port();
        for (WebEntrant entrant : entrants) {
            servers.put(entrant.contender(), WebServerProcess.start(entrant.server(), redisPort));
        }
        for (WebEntrant entrant : entrants) {
            load(entrant, 0, warmUp(form));
        }
    }

    /** Until then the compiler is not done with a server: the more there is in front of an endpoint, the longer it takes. */
    private static Duration warmUp(Form form) {
        return switch (form) {
            case TINY -> Duration.ofMillis(100);
            case QUICK -> Duration.ofSeconds(10);
            case FULL -> Duration.ofSeconds(25);
        };
    }

    private static Duration measured(Form form) {
        return Duration.ofMillis(form.iterations() * form.iterationMillis());
    }

    @Override
    public Sample round(Contender contender, Form form) throws Exception {
        WebEntrant entrant = entrants.stream()
                .filter(each -> each.contender().equals(contender))
                .findFirst()
                .orElseThrow();
        WebServerProcess server = server(entrant);
        load(entrant, 0, Duration.ofMillis(form.iterationMillis() / 2));
        Duration before = server.processorTime();
        Duration redisBefore = redisTime();
        HttpLoad.Result result = load(entrant, entrant.server().status(), measured(form));
        double usedMicros = server.processorTime().minus(before).toNanos() / 1e3;
        double redisMicros = redisTime().minus(redisBefore).toNanos() / 1e3;
        Sample sample = Sample.of(result.perSecond()).with(PROCESSOR_TIME, usedMicros / result.answers());
        return isOnRedis() ? sample.with(REDIS_TIME, redisMicros / result.answers()) : sample;
    }

    private boolean isOnRedis() {
        return entrants.stream().allMatch(each -> each.server().allows())
                && entrants.stream().anyMatch(each -> each.server().onRedis());
    }

    private Duration redisTime() {
        return redis == null ? Duration.ZERO : redis.processorTime();
    }

    private HttpLoad.Result load(WebEntrant entrant, int status, Duration time) throws IOException {
        try (HttpLoad load = HttpLoad.open(server(entrant).port(), CONNECTIONS)) {
            return load.run(time, status);
        }
    }

    private WebServerProcess server(WebEntrant entrant) {
        WebServerProcess server = servers.get(entrant.contender());
        if (server == null) {
            throw new IllegalStateException("not open: " + entrant.contender().name());
        }
        return server;
    }

    @Override
    public double expectedSeconds(Form form) {
        return (form.iterationMillis() / 2 + measured(form).toMillis()) / 1e3;
    }

    @Override
    public void close() throws IOException {
        for (WebServerProcess server : servers.values()) {
            server.close();
        }
        servers.clear();
        if (redis != null) {
            redis.close();
        }
    }
}

package io.github.reactorratelimit.benchmarks.web;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a server runs in front of its endpoint. All count by the address of the client. */
enum ServerKind {
    /** Nothing. */
    BARE(false, true),
    /** Every request denied with a status, and nothing else. */
    DENYING(false, false),
    /** This library as its properties configure it. */
    OURS(false, true, limit("1000000 per second"), "ratelimit.store=local"),
    /** The same, all requests but the first of a client denied. */
    OURS_DENIED(false, false, limit("1 per day"), "ratelimit.store=local"),
    /** This library with Redis. */
    OURS_REDIS(true, true, limit("1000000 per second"), "ratelimit.redis.deadline=10s"),
    /** A call of the smallest script for each request, and nothing else. */
    SCRIPT(true, true),
    /** The same, all requests but the first of a client denied. */
    OURS_REDIS_DENIED(true, false, limit("1 per day"), "ratelimit.redis.deadline=10s"),
    /** The starter of Bucket4j. */
    BUCKET4J_STARTER(false, true, StarterServer.properties(1_000_000_000)),
    /** The same, all requests but the first of a client denied. */
    BUCKET4J_STARTER_DENIED(false, false, StarterServer.properties(1)),
    /** The gateway's filter. */
    GATEWAY(true, true, "bench.gateway.rate=1000000", "bench.gateway.cost=1"),
    /** The same, all requests but the first of a client denied: its rates are whole permits per second, so one costs more than a minute's. */
    GATEWAY_DENIED(true, false, "bench.gateway.rate=1", "bench.gateway.cost=100000");

    private final boolean onRedis;
    private final boolean allows;

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> properties;

    ServerKind(boolean onRedis, boolean allows, String... properties) {
        this.onRedis = onRedis;
        this.allows = allows;
        this.properties = List.of(properties);
    }

    private static String limit(String rate) {
        return "spring.application.json={\"ratelimit\":{\"limits\":[{\"name\":\"all\",\"key\":\"ip\",\"limit\":\""
                + rate + "\"}]}}";
    }

    boolean onRedis() {
        return onRedis;
    }

    boolean allows() {
        return allows;
    }

    /** The status of every answer, but for the first ones of a server that denies. */
    int status() {
        return allows ? 200 : 429;
    }

    /** What belongs to the peer in question; the others stay switched off. */
    List<Class<?>> sources() {
        return switch (this) {
            case BUCKET4J_STARTER, BUCKET4J_STARTER_DENIED -> List.of(StarterServer.class);
            case DENYING -> List.of(DenyingServer.class);
            case SCRIPT -> List.of(ScriptServer.class);
            case GATEWAY, GATEWAY_DENIED -> List.of(GatewayServer.class);
            default -> List.of();
        };
    }

    /** Command line arguments of the application; {@code redisPort} matters only to those that use it. */
    String[] arguments(int redisPort) {
        List<String> all = new ArrayList<>(List.of(
                "server.port=0",
                "server.address=127.0.0.1",
                "spring.main.banner-mode=off",
                "spring.jmx.enabled=false",
                "spring.reactor.netty.shutdown-quiet-period=0s",
                "spring.cloud.gateway.server.webflux.enabled=false",
                "bucket4j.enabled=" + name().startsWith("BUCKET4J")));
        all.addAll(properties);
        boolean ours = name().startsWith("OURS");
        if (onRedis) {
            all.add(ours ? "ratelimit.redis.uri=redis://127.0.0.1:" + redisPort : "bench.redis.port=" + redisPort);
        }
        return all.stream().map(property -> "--" + property).toArray(String[]::new);
    }

    static ServerKind of(String name) {
        return Arrays.stream(values())
                .filter(kind -> kind.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no server " + name));
    }
}

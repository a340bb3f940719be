package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.Contender;
import java.util.ArrayList;
import java.util.List;

/** What a server has in front of its endpoint. All limits count by the address of the client. */
public enum ServerKind implements Contender {
    BARE(Kind.FLOOR, "bare endpoint", false, true),
    DENYING(Kind.FLOOR, "429 and nothing else", false, false),
    /** A call of the smallest script for each request, and nothing else. */
    SCRIPT(Kind.FLOOR, "one smallest script each", true, true),
    OURS(Kind.OURS, "reactor-ratelimit", false, true, limit("10000 per second"), "reactor-ratelimit.store=local"),
    OURS_DENIED(
            Kind.OURS, "reactor-ratelimit, denied", false, false, limit("1 per day"), "reactor-ratelimit.store=local"),
    OURS_REDIS(
            Kind.OURS,
            "reactor-ratelimit on Redis",
            true,
            true,
            limit("10000 per second"),
            "reactor-ratelimit.redis.deadline=10s"),
    OURS_REDIS_DENIED(
            Kind.OURS,
            "reactor-ratelimit on Redis, denied",
            true,
            false,
            limit("1 per day"),
            "reactor-ratelimit.redis.deadline=10s"),
    BUCKET4J_STARTER(Kind.PEER, "Bucket4j's starter", false, true, StarterServer.properties(10_000, "seconds")),
    BUCKET4J_STARTER_DENIED(Kind.PEER, "Bucket4j's starter, denied", false, false, StarterServer.properties(1, "days")),
    GATEWAY(Kind.PEER, "Spring Cloud Gateway's filter", true, true, "bench.gateway.rate=10000", "bench.gateway.cost=1"),
    /** Its rates are whole permits per second, so that a request costs more than a day of one per second. */
    GATEWAY_DENIED(
            Kind.PEER,
            "Spring Cloud Gateway's filter, denied",
            true,
            false,
            "bench.gateway.rate=1",
            "bench.gateway.cost=100000");

    private final Kind kind;
    private final String label;
    private final boolean onRedis;
    private final boolean allows;

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> properties;

    ServerKind(Kind kind, String label, boolean onRedis, boolean allows, String... properties) {
        this.kind = kind;
        this.label = label;
        this.onRedis = onRedis;
        this.allows = allows;
        this.properties = List.of(properties);
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String label() {
        return label;
    }

    private static String limit(String rate) {
        return "spring.application.json={\"reactor-ratelimit\":{\"limits\":{\"all\":{\"key\":\"ip\",\"limit\":\"" + rate
                + "\"}}}}";
    }

    boolean allows() {
        return allows;
    }

    /** The status of every response, except the first ones of a server that denies. */
    int status() {
        return allows ? 200 : 429;
    }

    /** The configuration of this kind; that of the others stays off. */
    List<Class<?>> sources() {
        return switch (this) {
            case BUCKET4J_STARTER, BUCKET4J_STARTER_DENIED -> List.of(StarterServer.class);
            case DENYING -> List.of(WebServer.Denying.class);
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
            all.add(
                    ours
                            ? "reactor-ratelimit.redis.uri=redis://127.0.0.1:" + redisPort
                            : "bench.redis.port=" + redisPort);
        }
        return all.stream().map(property -> "--" + property).toArray(String[]::new);
    }
}

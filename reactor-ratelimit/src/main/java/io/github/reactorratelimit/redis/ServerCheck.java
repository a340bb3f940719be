package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Asks a server, or every master of a Cluster, whether limiters can work there. Everything is sent at once,
 * beside the decisions of the limiters and not before them.
 */
final class ServerCheck {

    private static final Logger LOG = Loggers.getLogger(ServerCheck.class);
    private static final int MINIMUM_MAJOR = 5;
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final RedisConnector.Opened opened;
    private final String prefix;
    private final RedisScript script = RedisScript.ofSelfTest();

    ServerCheck(RedisConnector.Opened opened, String prefix) {
        this.opened = opened;
        this.prefix = prefix;
    }

    /** Says in the log what it finds. */
    void runAside() {
        run().subscribe(test -> test.findings().forEach(finding -> LOG.warn("Redis self-test, {}", finding)));
    }

    /** One answer, never an error; on a thread that may run the user's code. */
    Mono<SelfTest> run() {
        return Flux.merge(servers(), signals())
                .onErrorResume(error -> Flux.just(judge("self-test", error)))
                .collectList()
                .map(SelfTest::new)
                .publishOn(Schedulers.boundedElastic());
    }

    private Flux<Finding> servers() {
        return opened.servers()
                .flatMap(server -> server.connection()
                        .flatMapMany(connection -> server(server.where(), connection.async(), server.holds()))
                        .onErrorResume(
                                error -> Flux.just(error(server.where() + "cannot connect: " + error.getMessage()))));
    }

    private Flux<Finding> server(
            String where, RedisClusterAsyncCommands<String, String> commands, Predicate<String> isHere) {
        return Flux.defer(() -> {
            String[] keys = probeKeys(isHere);
            Mono<List<Finding>> info = asked("info", commands::info, text -> judgeInfo(text, opened.cluster() != null))
                    .collectList();
            Mono<List<Finding>> scripts = Flux.merge(
                            asked(
                                    "evalsha",
                                    () -> commands.<List<String>>evalsha(script.sha1(), ScriptOutputType.MULTI, keys),
                                    this::failures),
                            asked(
                                    "eval",
                                    () -> commands.<List<String>>eval(script.text(), ScriptOutputType.MULTI, keys),
                                    this::failures))
                    .collectList();
            return Mono.zip(info, scripts)
                    .flatMapIterable(both -> relevant(both.getT1(), both.getT2()))
                    .map(finding -> new Finding(finding.severity(), where + finding.message()));
        });
    }

    /** What a server says about itself explains why commands fail there. */
    private static List<Finding> relevant(List<Finding> info, List<Finding> scripts) {
        return info.stream().anyMatch(finding -> finding.severity() == Severity.ERROR)
                ? info
                : Stream.concat(info.stream(), scripts.stream()).toList();
    }

    private String[] probeKeys(Predicate<String> isHere) {
        RedisKeys keys = new RedisKeys(prefix, "self-test");
        for (; ; ) {
            String name = Long.toHexString(ThreadLocalRandom.current().nextLong());
            String[] candidates = {keys.named(name), keys.named(name) + ":log", keys.named(name) + ":free"};
            if (isHere.test(candidates[0])) {
                return candidates;
            }
        }
    }

    private Flux<Finding> signals() {
        String channel = new RedisKeys(prefix, "self-test").signalChannel();
        StatefulRedisPubSubConnection<String, String> pubSub = opened.pubSub();
        return pubSub == null
                ? Flux.empty()
                : Flux.merge(
                        asked("publish", () -> opened.commands().publish(channel, ""), done -> List.of()),
                        asked("subscribe", () -> pubSub.async().subscribe(channel), done -> List.of()),
                        asked("unsubscribe", () -> pubSub.async().unsubscribe(channel), done -> List.of()));
    }

    /** The command's own error is a finding too; that a script is not known is none. */
    private <T> Flux<Finding> asked(String command, Supplier<RedisFuture<T>> sent, Function<T, List<Finding>> judged) {
        return Mono.fromCompletionStage(sent)
                .timeout(PATIENCE, Schedulers.parallel())
                .flatMapIterable(judged)
                .onErrorComplete(RedisNoScriptException.class)
                .onErrorResume(error -> Flux.just(judge(command, error)));
    }

    private static Finding error(String message) {
        return new Finding(Severity.ERROR, message);
    }

    private Finding judge(String command, Throwable error) {
        return error instanceof RedisCommandExecutionException
                ? ReplyErrors.judge(prefix, command, String.valueOf(error.getMessage()))
                : error("no answer from Redis: " + error.getMessage());
    }

    /** Pairs of a command and its error. */
    private List<Finding> failures(List<String> pairs) {
        return Stream.iterate(0, i -> i + 1 < pairs.size(), i -> i + 2)
                .map(i -> ReplyErrors.judge(prefix, pairs.get(i), pairs.get(i + 1)))
                .toList();
    }

    /** What a server says of itself in {@code INFO}, judged. */
    static List<Finding> judgeInfo(String info, boolean clusterConnection) {
        Map<String, String> fields = new HashMap<>();
        info.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).trim());
            }
        });
        List<Finding> findings = new ArrayList<>();
        String version = fields.getOrDefault("redis_version", "");
        if (majorOf(version) < MINIMUM_MAJOR) {
            findings.add(error("Redis " + version + " is too old: " + MINIMUM_MAJOR + ".0 or later is needed"));
        }
        String eviction = fields.getOrDefault("maxmemory_policy", "noeviction");
        if (!eviction.equals("noeviction")) {
            findings.add(new Finding(
                    Severity.WARNING,
                    "maxmemory-policy is " + eviction + ": when memory is short Redis forgets what keys have spent, and"
                            + " they get their whole limit again. Set maxmemory-policy noeviction"));
        }
        String mode = fields.getOrDefault("redis_mode", "standalone");
        if (mode.equals("sentinel")) {
            findings.add(error("this is a Sentinel: connect with redis-sentinel://host:port#master instead"));
        } else if (mode.equals("cluster") && !clusterConnection) {
            findings.add(error("this is a node of a Cluster: use RedisStore.connectCluster, or a connection of a"
                    + " RedisClusterClient"));
        }
        if ("slave".equals(fields.get("role"))) {
            findings.add(error("this is a replica, which takes no writes: connect to the master, or through Sentinel"));
        }
        return findings;
    }

    /** A version that cannot be read is taken for a new one. */
    private static int majorOf(String version) {
        int dot = version.indexOf('.');
        String major = dot < 0 ? version : version.substring(0, dot);
        return major.matches("\\d{1,6}") ? Integer.parseInt(major) : Integer.MAX_VALUE;
    }
}

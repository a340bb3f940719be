package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Cluster;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.github.reactorratelimit.testing.redis.Sentinels;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

@ExtendWith(RedisExtension.class)
class SelfTestTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** What docs/redis.md says a user needs. */
    private static final String PERMISSIONS =
            "~ratelimit:* &ratelimit:* +evalsha +eval +time +get +mget +set +del +pexpire +pttl +llen +lrange +rpush +ltrim"
                    + " +exists +zadd +zcard +zcount +zscore +zrangebyscore +zrevrange +zrem +publish"
                    + " +subscribe +unsubscribe +info";

    /** What it needs in addition for Lettuce to find the nodes. */
    private static final String FOR_CLUSTER = " +cluster|nodes";

    private static SelfTest testOf(String uri) {
        return testOf(RedisURI.create(uri));
    }

    private static SelfTest testOf(RedisURI uri) {
        RedisStore store = RedisStore.connect(uri).block(PATIENCE);
        try {
            return store.selfTest().block(PATIENCE);
        } finally {
            store.close().block(PATIENCE);
        }
    }

    private static String address(RedisURI uri) {
        return uri.getHost() + ":" + uri.getPort();
    }

    private static String as(String user, Standalone redis) {
        return "redis://" + user + ":pw@" + address(redis.uri());
    }

    @Test
    void nothingIsFoundWhereAllIsWell(Standalone redis) {
        SelfTest test = testOf(redis.uri());
        assertThat(test.findings()).isEmpty();
        assertThat(test.passed()).isTrue();
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            assertThat(connection.sync().keys("ratelimit:{self-test*")).isEmpty();
        }
    }

    @Test
    void documentedPermissionsAreEnough() throws IOException {
        assertThat(Files.readString(Path.of("../docs/redis.md"))).contains(PERMISSIONS);
        try (Standalone redis = Standalone.start("user u on >pw resetchannels " + PERMISSIONS)) {
            RedisStore store = RedisStore.connect(as("u", redis)).block(PATIENCE);
            assertThat(store.selfTest().block(PATIENCE).findings()).isEmpty();
            for (StoredValueTest.Kind kind : StoredValueTest.Kind.values()) {
                RateLimiter limiter = RateLimiter.builder(kind.policy.policy())
                        .name(kind.name())
                        .store(store.withDeadline(PATIENCE))
                        .build();
                assertThat(limiter.tryAcquire("k").block(PATIENCE).degraded()).isFalse();
                limiter.reset("k").block(PATIENCE);
                limiter.close().block(PATIENCE);
            }
            reserveAndFreeSlots(store.withDeadline(PATIENCE));
            lease(store.withDeadline(PATIENCE));
            manage(store.withDeadline(PATIENCE));
            store.close().block(PATIENCE);
        }
    }

    /** Of two processes that wait the first leaves: its slot is in the middle, and the next who waits takes it. */
    private static void reserveAndFreeSlots(RedisStore store) {
        AtomicLong lost = new AtomicLong();
        RateLimiter one = waiting(store, lost);
        RateLimiter other = waiting(store, lost);
        one.tryAcquire("k").block(PATIENCE);
        Disposable first = one.acquire("k").subscribe(granted -> {}, closed -> {});
        Await.until("a slot", () -> waitFor(one).compareTo(Duration.ofHours(1)) > 0);
        other.acquire("k").subscribe(granted -> {}, closed -> {});
        Await.until("two slots", () -> waitFor(one).compareTo(Duration.ofHours(2)) > 0);
        first.dispose();
        one.acquire("k").subscribe(granted -> {}, closed -> {});
        Await.until("still two slots", () -> waitFor(one).compareTo(Duration.ofHours(3)) <= 0);
        one.close().block(PATIENCE);
        other.close().block(PATIENCE);
        assertThat(lost).as("slots that could not be freed").hasValue(0);
    }

    private static RateLimiter waiting(RedisStore store, AtomicLong lost) {
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event == Event.REFUND_LOST) {
                    lost.addAndGet(permits);
                }
            }
        };
        return RateLimiter.builder(TokenBucket.perHour(1).withBurst(1))
                .name("slots")
                .recorder(recorder)
                .store(store)
                .build();
    }

    private static Duration waitFor(RateLimiter limiter) {
        return limiter.peek("k").block(PATIENCE).retryAfter().orElseThrow();
    }

    private static void lease(RedisStore store) {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                .name("leases")
                .store(store)
                .build();
        Lease held = limiter.acquireLease("k", 1, Duration.ZERO).block(PATIENCE);
        Mono<Lease> next = limiter.acquireLease("k", 1, PATIENCE).cache();
        next.subscribe();
        held.release().block(PATIENCE);
        next.block(PATIENCE).release().block(PATIENCE);
        limiter.close().block(PATIENCE);
    }

    /** Whatever is not a decision: an error of any of it ends the test. */
    private static void manage(RedisStore store) {
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(100))
                .name("managed")
                .store(store.leasing())
                .build();
        RateLimiter beside = RateLimiter.builder(TokenBucket.perHour(100))
                .name("beside")
                .store(store)
                .build();
        limiter.reserve("k", 5)
                .flatMap(reservation -> reservation.settle(9))
                .then(limiter.tryAcquire("k", 10).flatMap(limiter::refund))
                .then(RateLimiter.acquireAll(
                        List.of(RateLimiter.permits(limiter, "k"), RateLimiter.permits(beside, "k"))))
                .then(limiter.pause("k", Duration.ofHours(1)))
                .then(limiter.pause("k", Duration.ZERO))
                .then(limiter.changePolicy(TokenBucket.perHour(200)))
                .then(limiter.peek("k"))
                .doOnNext(seen -> assertThat(seen.limit()).isEqualTo(200))
                .then(limiter.close())
                .block(PATIENCE);
    }

    @Test
    void documentedPermissionsAreEnoughOnACluster(Cluster cluster) throws IOException {
        assertThat(Files.readString(Path.of("../docs/redis.md"))).contains(FOR_CLUSTER);
        String[] rules = ("SETUSER cluster-user reset on >pw " + PERMISSIONS + FOR_CLUSTER).split(" ");
        cluster.servers().forEach(server -> acl(server, rules));
        try {
            String uri = "redis://cluster-user:pw@" + address(cluster.uris().get(0));
            RedisStore store = RedisStore.connectCluster(uri).block(PATIENCE);
            assertThat(store.selfTest().block(PATIENCE).findings()).isEmpty();
            store.close().block(PATIENCE);
        } finally {
            cluster.servers().forEach(server -> acl(server, "DELUSER", "cluster-user"));
        }
    }

    private static void acl(RedisServer server, String... arguments) {
        server.ask(node -> node.dispatch(
                CommandType.ACL,
                new ArrayOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8).addValues(arguments)));
    }

    @ParameterizedTest
    @CsvSource({
        "+get, ERROR, the user may not run get. Allow +get",
        "+set, ERROR, the user may not run set. Allow +set",
        "+rpush, ERROR, the user may not run rpush. Allow +rpush",
        "+zadd, ERROR, the user may not run zadd. Allow +zadd",
        "+time, ERROR, the user may not run time. Allow +time",
        "+evalsha, ERROR, the user may not run evalsha. Allow +evalsha",
        "+eval, ERROR, the user may not run eval. Allow +eval",
        "~ratelimit:*, ERROR, the user may not use the limiters' keys. Allow ~ratelimit:*",
        "+info, NOTE, Allow +info",
        "+publish, WARNING, Allow +publish +subscribe +unsubscribe &ratelimit:*",
        "+subscribe, WARNING, Allow +publish +subscribe +unsubscribe &ratelimit:*",
        "&ratelimit:*, WARNING, Allow +publish +subscribe +unsubscribe &ratelimit:*",
    })
    void missingPermissionIsNamed(String missing, Severity severity, String said) {
        String granted = Stream.of(PERMISSIONS.split(" "))
                .filter(permission -> !permission.equals(missing))
                .collect(Collectors.joining(" "));
        try (Standalone redis = Standalone.start("user u on >pw resetchannels " + granted)) {
            SelfTest test = testOf(as("u", redis));
            assertThat(test.findings()).isNotEmpty().allSatisfy(finding -> {
                assertThat(finding.severity()).isEqualTo(severity);
                assertThat(finding.message()).contains(said);
            });
            assertThat(test.passed()).isEqualTo(severity != Severity.ERROR);
        }
    }

    /** Else a new command in a script would be missing in the self-test. */
    @Test
    void everyCommandOfTheScriptsIsTried() throws IOException {
        Set<String> used = commandsIn("(?:run|write|[^.]pcall)\\('([A-Z]+)'");
        assertThat(commandsIn("try\\('([A-Z]+)'")).containsExactlyElementsOf(used);
        assertThat(PERMISSIONS.split(" "))
                .containsAll(used.stream().map(name -> "+" + name.toLowerCase()).toList());
    }

    private static Set<String> commandsIn(String pattern) throws IOException {
        Set<String> commands = new TreeSet<>();
        Path scripts = Path.of("src/main/resources/io/github/reactorratelimit/redis");
        try (Stream<Path> files = Files.list(scripts)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Pattern.compile(pattern)
                        .matcher(Files.readString(file))
                        .results()
                        .forEach(match -> commands.add(match.group(1)));
            }
        }
        return commands;
    }

    @Test
    void evictionIsWarnedAbout() {
        try (Standalone redis = Standalone.start("maxmemory 50mb", "maxmemory-policy allkeys-lru")) {
            SelfTest test = testOf("redis://" + address(redis.uri()));
            assertThat(test.findings()).singleElement().satisfies(finding -> {
                assertThat(finding.severity()).isEqualTo(Severity.WARNING);
                assertThat(finding.message())
                        .contains("maxmemory-policy is allkeys-lru")
                        .endsWith("Set maxmemory-policy noeviction");
            });
            assertThat(test.passed()).isTrue();
        }
    }

    @Test
    void replicaIsAnError(Sentinels sentinels) {
        RedisServer replica = sentinels.replicas().get(0);
        assertThat(testOf("redis://" + address(replica.uri())).findings())
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.severity()).isEqualTo(Severity.ERROR);
                    assertThat(finding.message()).contains("this is a replica");
                });
    }

    @Test
    void sentinelTakenForAServerIsAnError(Sentinels sentinels) {
        RedisServer sentinel = sentinels.sentinels().get(0);
        assertThat(testOf("redis://" + address(sentinel.uri())).findings())
                .extracting(Finding::message)
                .first()
                .asString()
                .contains("redis-sentinel://");
    }

    @Test
    void nodeOfAClusterTakenForAServerIsAnError(Cluster cluster) {
        RedisServer master = cluster.masters().get(0);
        assertThat(testOf("redis://" + address(master.uri())).findings())
                .extracting(Finding::message)
                .first()
                .asString()
                .contains("RedisStore.connectCluster");
    }

    @Test
    void everyMasterOfAClusterIsTested(Cluster cluster) {
        RedisServer odd = cluster.masters().get(1);
        try (StatefulRedisClusterConnection<String, String> connection = cluster.connect()) {
            RedisStore store = RedisStore.of(connection);
            assertThat(store.selfTest().block(PATIENCE).findings()).isEmpty();
            odd.ask(node -> node.configSet("maxmemory-policy", "volatile-ttl"));
            assertThat(store.selfTest().block(PATIENCE).findings())
                    .singleElement()
                    .extracting(Finding::message)
                    .asString()
                    .startsWith(address(odd.uri()) + ": maxmemory-policy is volatile-ttl");
        } finally {
            odd.ask(node -> node.configSet("maxmemory-policy", "noeviction"));
        }
    }

    @Test
    void silentServerIsAFindingAndDelaysNoLimiter(Standalone redis) {
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
            proxy.blackHole();
            RateLimiter limiter = RateLimiter.builder(SlidingWindowLog.of(1, Duration.ofHours(1)))
                    .store(store)
                    .build();
            assertThat(limiter.tryAcquire("k").block(PATIENCE).degraded()).isTrue();
            SelfTest test = store.selfTest().block(PATIENCE);
            assertThat(test.passed()).isFalse();
            assertThat(test.findings())
                    .allSatisfy(finding -> assertThat(finding.message()).startsWith("no answer from Redis"));
            store.close().block(PATIENCE);
        }
    }

    /** So that no limiter has to send its text. */
    private static void loadScript(Standalone redis) {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            RateLimiter.builder(SlidingWindowLog.of(1, Duration.ofHours(1)))
                    .store(RedisStore.of(connection).withoutSelfTest().withPrefix("loads"))
                    .build()
                    .tryAcquire("script")
                    .block(PATIENCE);
        }
    }

    @Test
    void firstLimiterOfAStoreTestsItOnce(Standalone redis) {
        loadScript(redis);
        try (FaultProxy proxy = FaultProxy.before(redis.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE);
            for (int i = 0; i < 3; i++) {
                RateLimiter.builder(SlidingWindowLog.of(1, Duration.ofHours(1)))
                        .store(store)
                        .build();
            }
            Await.until("tested", () -> proxy.commands("INFO") > 0 && proxy.commands("EVAL") > 0);
            RateLimiter.builder(SlidingWindowLog.of(1, Duration.ofHours(1)))
                    .store(store.withoutSelfTest().withPrefix("other"))
                    .build();
            store.selfTest().block(PATIENCE);
            assertThat(proxy.commands("INFO")).isEqualTo(2);
            assertThat(proxy.commands("EVAL")).isEqualTo(2);
            store.close().block(PATIENCE);
        }
    }

    @ParameterizedTest
    @CsvSource({"4.0.14, true", "5.0.0, false", "7.2.3, false", "255.255.255, false", "unstable, false"})
    void versionsBefore5AreTooOld(String version, boolean tooOld) {
        List<Finding> findings = ServerCheck.judgeInfo("# Server\r\nredis_version:" + version + "\r\n", false);
        assertThat(findings).hasSize(tooOld ? 1 : 0);
    }

    @ParameterizedTest
    @CsvSource({
        "NOPERM this user has no permissions to run the 'get' command or its subcommand, Allow +get",
        "The user executing the script can't run this command or subcommand, Allow +get",
        "ERR ACL failure in script: User u has no permissions to run the 'get' command, Allow +get",
        "NOPERM this user has no permissions to access one of the keys used as arguments, Allow ~p:*",
        "The user executing the script can't access at least one of the keys mentioned in the command arguments, Allow"
                + " ~p:*",
        "OOM command not allowed when used memory > 'maxmemory'., get fails with"
    })
    void refusalsOfAllVersionsAreUnderstood(String said, String advice) {
        assertThat(ReplyErrors.judge("p", "GET", said).message()).contains(advice);
    }
}

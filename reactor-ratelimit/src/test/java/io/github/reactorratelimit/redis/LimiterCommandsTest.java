package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Commands of a limiter on a real server: order, batches, groups, errors. */
@ExtendWith(RedisExtension.class)
class LimiterCommandsTest {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final RateLimitPolicy SLOW = new Gcra(10, Duration.ofHours(1), 10);

    private final StatefulRedisConnection<String, String> connection;
    private final RedisConnections connections;
    private final List<Throwable> failures = new ArrayList<>();

    LimiterCommandsTest(Standalone redis) {
        connection = redis.connect();
        connections = RedisConnections.of(connection);
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private LimiterCommands limiter(RateLimitPolicy policy) {
        LimiterSettings settings = new LimiterSettings(
                "commands-" + UUID.randomUUID(),
                policy,
                Schedulers.parallel(),
                Schedulers.parallel(),
                RateLimitRecorder.NOOP,
                100,
                true);
        StoreOptions options = StoreOptions.DEFAULT.withDeadline(PATIENCE);
        RedisKeys keys = new RedisKeys("ratelimit", settings.name());
        return new LimiterCommands(
                connections.queues(), keys, settings, options, new FailureLog(settings, options, false) {
                    @Override
                    void unavailable(String node, RedisUnavailableException why) {
                        failures.add(why);
                    }

                    @Override
                    void failed(RateLimitException error) {
                        failures.add(error);
                    }
                });
    }

    @Test
    void acquiresOfOneKeyAreDecidedInOrder() {
        LimiterCommands limiter = limiter(SLOW);
        ScriptPolicy policy = ScriptPolicy.of(SLOW);

        List<Boolean> allowed = Flux.range(0, 25)
                .flatMapSequential(i -> limiter.send("k", policy, Command.acquire(1)), 25)
                .map(CommandReply::allowed)
                .collectList()
                .block(PATIENCE);

        assertThat(allowed).hasSize(25);
        assertThat(allowed.subList(0, 10)).containsOnly(true);
        assertThat(allowed.subList(10, 25)).containsOnly(false);
    }

    @Test
    void commandsOfManyKeysAndPoliciesShareCalls() {
        List<RateLimitPolicy> policies = List.of(
                SLOW,
                new TokenBucket(10, 1, Duration.ofHours(1)),
                FixedWindow.of(10, Duration.ofDays(1)),
                SlidingWindowLog.of(10, Duration.ofHours(1)));
        LimiterCommands limiter = limiter(SLOW);
        List<ScriptPolicy> scripts =
                policies.stream().map(policy -> ScriptPolicy.of(policy)).toList();
        long before = calls();

        List<CommandReply> replies = Flux.range(0, 400)
                .flatMap(i -> limiter.send("k" + i % 40, scripts.get(i % 4), Command.acquire(1)), 400)
                .collectList()
                .block(PATIENCE);

        assertThat(replies).hasSize(400).allMatch(CommandReply::allowed);
        assertThat(calls() - before).isBetween(1L, 99L);
    }

    private long calls() {
        return connection
                .sync()
                .info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_eval"))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*:calls=(\\d+),.*", "$1")))
                .sum();
    }

    /** This process believes that it is 1970. */
    @Test
    void commandOutsideTheKnownCalendarWindowsWritesNothingAndTheNextHasTheRightOne() {
        RateLimitPolicy daily = FixedWindow.daily(3, ZoneOffset.UTC);
        LimiterCommands limiter = limiter(daily);
        ScriptPolicy policy = ScriptPolicy.of(daily);
        limiter.clock().learn(0);

        Mono<CommandReply> acquire = limiter.send("k", policy, Command.acquire(1));
        StepVerifier.create(acquire)
                .expectErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(RedisUnavailableException.class)
                        .hasMessageContaining("RATELIMITWINDOW"))
                .verify(PATIENCE);

        CommandReply reply = acquire.block(PATIENCE);
        assertThat(reply.allowed()).isTrue();
        assertThat(reply.remaining()).as("debited once").isEqualTo(2);
        assertThat(failures).isEmpty();
    }

    @Test
    void aScriptThatTheServerForgotIsSentAgain() {
        LimiterCommands limiter = limiter(SLOW);
        ScriptPolicy policy = ScriptPolicy.of(SLOW);
        connection.sync().scriptFlush();

        StepVerifier.create(Flux.range(0, 20).flatMap(i -> limiter.send("k" + i, policy, Command.acquire(1))))
                .expectNextCount(20)
                .expectComplete()
                .verify(PATIENCE);
    }

    @Test
    void whatIsWrongWithOneKeyHarmsNoOther() {
        LimiterCommands limiter = limiter(SLOW);
        ScriptPolicy policy = ScriptPolicy.of(SLOW);
        connection.sync().rpush(limiter.keys().named("list"), "1");
        connection.sync().set(limiter.keys().named("newer"), "2something");

        List<Object> replies = Flux.just("a", "list", "b", "newer", "c")
                .flatMapSequential(key -> limiter.send(key, policy, Command.acquire(1))
                        .cast(Object.class)
                        .onErrorResume(Mono::just))
                .collectList()
                .block(PATIENCE);

        assertThat(replies)
                .satisfiesExactly(
                        first -> assertThat(first).isInstanceOf(CommandReply.class),
                        list -> assertThat(list).isInstanceOf(RedisCorruptStateException.class),
                        second -> assertThat(second).isInstanceOf(CommandReply.class),
                        newer -> assertThat(newer).isInstanceOf(RedisUnavailableException.class),
                        third -> assertThat(third).isInstanceOf(CommandReply.class));
        assertThat(failures).hasSize(1);
    }

    @Test
    void aGroupIsDecidedTogether() {
        LimiterCommands one = limiter(SLOW);
        LimiterCommands other = limiter(SLOW);
        ScriptPolicy ofOne = ScriptPolicy.of(SLOW);
        ScriptPolicy ofOther = ScriptPolicy.of(SLOW);
        List<CommandGroup.Member> members = List.of(
                new CommandGroup.Member(one, "k", ofOne, Command.acquire(6)),
                new CommandGroup.Member(other, "k", ofOther, Command.acquire(4)));

        List<List<CommandReply>> rounds = Flux.range(0, 3)
                .flatMapSequential(i -> CommandGroup.send(members))
                .collectList()
                .block(PATIENCE);

        assertThat(rounds.get(0)).hasSize(2).allMatch(CommandReply::allowed);
        assertThat(rounds.get(1)).hasSize(1).noneMatch(CommandReply::allowed);
        assertThat(rounds.get(2)).hasSize(1).noneMatch(CommandReply::allowed);
        assertThat(other.send("k", ofOther, Command.peek(1)).block(PATIENCE).remaining())
                .isEqualTo(6);
    }

    @Test
    void groupsThatShareKeysNeitherDeadlockNorStarve() throws InterruptedException {
        RateLimitPolicy wide = new Gcra(100_000, Duration.ofSeconds(1), 100_000);
        LimiterCommands limiter = limiter(wide);
        ScriptPolicy policy = ScriptPolicy.of(wide);
        int rounds = 300;
        CountDownLatch done = new CountDownLatch(2 * 3 * rounds);
        ConcurrentLinkedQueue<Throwable> errors = new ConcurrentLinkedQueue<>();
        List<List<String>> groups = List.of(List.of("a", "b", "c"), List.of("c", "b", "a"), List.of("b", "d"));

        IntStream.range(0, 3 * rounds).parallel().forEach(i -> {
            List<CommandGroup.Member> members = groups.get(i % 3).stream()
                    .map(key -> new CommandGroup.Member(limiter, key, policy, Command.acquire(1)))
                    .toList();
            CommandGroup.send(members).subscribe(replies -> {}, errors::add, done::countDown);
            limiter.send("b", policy, Command.acquire(1)).subscribe(reply -> {}, errors::add, done::countDown);
        });

        assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(errors).isEmpty();
        Await.until("nothing waits", () -> connections.queues().of("any").size() == 0);
    }

    @Test
    void versionsAreRegisteredAndRead() {
        LimiterCommands limiter = limiter(SLOW);
        RateLimitPolicy other = new Gcra(5, Duration.ofHours(1), 5);

        assertThat(limiter.sendToRegistry(Command.readVersions())
                        .block(PATIENCE)
                        .versions())
                .isEmpty();
        assertThat(limiter.sendToRegistry(Command.registerVersion(3, SLOW))
                        .block(PATIENCE)
                        .versions())
                .containsOnlyKeys(3L);
        assertThat(limiter.sendToRegistry(Command.changeVersion(0, SLOW, other))
                        .block(PATIENCE)
                        .versions())
                .containsOnlyKeys(3L, 4L);
    }

    @Test
    void aCarriedOverDebitCannotBeRefunded() {
        LimiterCommands limiter = limiter(SLOW);
        ScriptPolicy policy = ScriptPolicy.of(SLOW);
        ScriptPolicy next =
                ScriptPolicy.of(new Gcra(20, Duration.ofHours(1), 20)).withVersion(1, policy, 0);
        CommandReply debit = limiter.send("k", policy, Command.acquire(4)).block(PATIENCE);

        CommandReply under = limiter.send("k", next, Command.acquire(1)).block(PATIENCE);
        CommandReply refund = limiter.send(
                        "k", next, Command.refund(4, debit.key().nowMicros()))
                .block(PATIENCE);

        assertThat(under.remaining()).isEqualTo(15);
        assertThat(refund.count()).isEqualTo(4);
        assertThat(refund.remaining()).isEqualTo(15);
        StepVerifier.create(limiter.send("k", policy, Command.acquire(1)))
                .expectError(NewerVersionException.class)
                .verify(PATIENCE);
    }
}

package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** When a process looks whether another policy rules. */
@ExtendWith(RedisExtension.class)
class PolicyReadingTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final RateLimitPolicy OLD = TokenBucket.perHour(10);
    private static final RateLimitPolicy NEW = TokenBucket.perHour(30);

    private final String name = "reading-" + UUID.randomUUID();
    private final StatefulRedisConnection<String, String> connection;
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    PolicyReadingTest(Standalone redis) {
        this.connection = redis.connect();
    }

    @AfterEach
    void close() {
        connection.close();
    }

    private static LimiterSettings settings(String name, Scheduler clock) {
        return new LimiterSettings(name, OLD, clock, Schedulers.parallel(), new RateLimitRecorder() {}, 10, true);
    }

    /** It hears no signals, and has read that nothing rules in place of its own policy. */
    private LimiterState settled(String name) {
        LimiterState state = RedisStore.of(connection)
                .withoutSelfTest()
                .withDeadline(ofSeconds(60))
                .open(settings(name, time));
        state.evaluate("k", null, 1).block(PATIENCE);
        return state;
    }

    private void changeElsewhere() {
        settled(name).changePolicy(NEW).block(PATIENCE);
    }

    @Test
    void shortTakesLookNowAndThen() {
        LimiterState state = settled(name);
        changeElsewhere();
        time.advanceTimeBy(PolicyVersions.READ_EVERY);
        AtomicReference<RateLimitPolicy> inEffect = new AtomicReference<>(OLD);
        state.onPolicyChange(inEffect::set);
        assertThat(inEffect).hasValue(OLD);
        state.evaluate("untouched", null, 1).block(PATIENCE);
        Await.until("it follows", () -> inEffect.get().equals(NEW));
    }

    @Test
    void jointTakesLookNowAndThen() {
        LimiterState state = settled(name);
        LimiterState beside = settled(name + "-beside");
        changeElsewhere();
        time.advanceTimeBy(PolicyVersions.READ_EVERY);
        List<LimiterState.KeyRequest> takes = List.of(
                new LimiterState.KeyRequest(state, "untouched", null, 1),
                new LimiterState.KeyRequest(beside, "untouched", null, 1));
        AtomicReference<RateLimitPolicy> inEffect = new AtomicReference<>(OLD);
        state.onPolicyChange(inEffect::set);
        // Empty if the reading ends before the call is sent: keys under a predecessor are decided in order.
        state.evaluateTogether(takes).block(PATIENCE);
        Await.until("it follows", () -> inEffect.get().equals(NEW));
    }

    /** A registry whose replies the test gives. */
    private PolicyVersions versions(Function<Command, Mono<CommandReply>> registry) {
        return new PolicyVersions(settings(name, time), commands(), registry, 0, false);
    }

    private LimiterCommands commands() {
        LimiterSettings settings = settings(name, time);
        return new LimiterCommands(
                RedisConnections.of(connection).queues(),
                new RedisKeys("test", name),
                settings,
                StoreOptions.DEFAULT,
                new FailureLog(settings, StoreOptions.DEFAULT, false));
    }

    private static CommandReply reply(String registered) {
        return CallReply.parse(
                        ScriptPolicy.versions(OLD),
                        List.of(Command.readVersions()),
                        1,
                        "0 0 0 0 -|1 0 0 0 0 - 0|" + registered)
                .get(0);
    }

    @Test
    void reconnectedReadsOnceMoreAfterAReadingThatMayBeOlder() {
        Sinks.One<CommandReply> older = Sinks.one();
        AtomicInteger readings = new AtomicInteger();
        CommandReply newer = reply("1," + PolicyText.format(NEW).replace(' ', ';'));
        AtomicReference<RateLimitPolicy> told = new AtomicReference<>();
        PolicyVersions versions = versions(read -> readings.incrementAndGet() == 1 ? older.asMono() : Mono.just(newer));

        versions.open(told::set);
        versions.readAgain();
        assertThat(readings).hasValue(1);
        older.tryEmitValue(reply(""));

        Await.until("it follows", ofSeconds(5), () -> told.get() != null);
        assertThat(told).hasValue(NEW);
        assertThat(versions.number()).isEqualTo(1);
        assertThat(readings).hasValue(2);
    }

    /** The first request comes about when the reading that began with the limiter ends. */
    @Test
    void requestThatComesWhenTheReadingEndsDoesNotReadAgain() {
        int rounds = 20_000;
        AtomicInteger readings = new AtomicInteger();
        CommandReply nothing = reply("");
        for (int i = 0; i < rounds; i++) {
            PolicyVersions versions = versions(read -> {
                readings.incrementAndGet();
                return Mono.just(nothing);
            });
            versions.open(policy -> {});
            versions.settled().block(PATIENCE);
        }
        assertThat(readings).hasValue(rounds);
    }

    /** Requests that wait for the first reading are let through in order, also by a reading that fails for good. */
    @Test
    void requestsThatComeBeforeTheFirstReadingGoOnInOrder() {
        Sinks.One<CommandReply> first = Sinks.one();
        PolicyVersions versions = versions(read -> first.asMono());
        versions.open(policy -> {});
        List<String> passed = new ArrayList<>();
        versions.settled().subscribe(done -> {}, refused -> {}, () -> {
            passed.add("a");
            versions.settled().subscribe(done -> {}, refused -> {}, () -> passed.add("c"));
        });
        versions.settled().subscribe(done -> {}, refused -> {}, () -> passed.add("b"));
        assertThat(passed).isEmpty();
        assertThat(versions.isSettled()).isFalse();

        first.tryEmitValue(reply(""));

        assertThat(passed).containsExactly("a", "b", "c");
        assertThat(versions.isSettled()).isTrue();
    }

    @Test
    void requestThatIsRefusedMayComeAgain() {
        List<Mono<CommandReply>> replies =
                new ArrayList<>(List.of(Mono.error(new RedisUnavailableException("away")), Mono.just(reply(""))));
        PolicyVersions versions = versions(read -> replies.remove(0));
        versions.open(policy -> {});
        assertThat(versions.isSettled()).isFalse();

        versions.settled().block(PATIENCE);

        assertThat(versions.isSettled()).isTrue();
    }

    @Test
    void requestThatIsOverdueWhenTheReadingEndsIsNotSent() {
        Sinks.One<CommandReply> first = Sinks.one();
        PolicyVersions versions = versions(read -> first.asMono());
        VersionedCommands commands = new VersionedCommands(commands(), versions, time, ofSeconds(1));
        versions.open(policy -> {});
        AtomicReference<Throwable> refused = new AtomicReference<>();
        commands.send("k", null, Command.acquire(1)).subscribe(done -> {}, refused::set);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(refused.get()).isInstanceOf(RedisUnavailableException.class);

        first.tryEmitValue(reply(""));

        CommandReply next = commands.send("k", null, Command.acquire(1)).block(PATIENCE);
        assertThat(next.remaining()).isEqualTo(9);
    }

    @Test
    void newerPolicyIsAnnouncedToThoseThatHearSignals(Standalone redis) {
        RedisClient client = RedisClient.create(redis.uri());
        Queue<String> heard = new ConcurrentLinkedQueue<>();
        try (StatefulRedisPubSubConnection<String, String> listening = client.connectPubSub();
                StatefulRedisPubSubConnection<String, String> pubSub = client.connectPubSub()) {
            listening.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String channel, String message) {
                    heard.add(message);
                }
            });
            listening.sync().subscribe(new RedisKeys("ratelimit", name).signalChannel());
            settled(name).changePolicy(NEW).block(PATIENCE);

            RedisStore.of(connection)
                    .withoutSelfTest()
                    .withDeadline(ofSeconds(60))
                    .withSignals(pubSub)
                    .open(settings(name, time));

            Await.until("it is announced", () -> heard.stream().anyMatch(message -> message.startsWith("v")));
        } finally {
            client.shutdown(Duration.ZERO, ofSeconds(1));
        }
    }
}

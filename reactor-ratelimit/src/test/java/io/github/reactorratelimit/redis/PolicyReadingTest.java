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
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.NavigableMap;
import java.util.Queue;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
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
        return new LimiterSettings(name, OLD, clock, Schedulers.parallel(), new RateLimitRecorder() {}, 10);
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
        time.advanceTimeBy(PolicyEpochs.READ_EVERY);
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
        time.advanceTimeBy(PolicyEpochs.READ_EVERY);
        List<LimiterState.KeyRequest> takes = List.of(
                new LimiterState.KeyRequest(state, "untouched", null, 1),
                new LimiterState.KeyRequest(beside, "untouched", null, 1));
        AtomicReference<RateLimitPolicy> inEffect = new AtomicReference<>(OLD);
        state.onPolicyChange(inEffect::set);
        assertThat(state.evaluateTogether(takes).block(PATIENCE)).hasSize(2);
        Await.until("it follows", () -> inEffect.get().equals(NEW));
    }

    @Test
    void reconnectedReadsOnceMoreAfterAReadingThatMayBeOlder() {
        Sinks.One<NavigableMap<Long, String>> older = Sinks.one();
        AtomicInteger readings = new AtomicInteger();
        NavigableMap<Long, String> policies = new TreeMap<>();
        policies.put(1L, PolicyText.format(NEW));
        AtomicReference<PolicyEpochs.Rule> told = new AtomicReference<>();
        PolicyEpochs epochs = new PolicyEpochs(
                settings(name, time),
                0,
                new PolicyEpochs.Registry() {
                    @Override
                    public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
                        return readings.incrementAndGet() == 1 ? older.asMono() : Mono.just(policies);
                    }

                    @Override
                    public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
                        return Mono.error(new AssertionError("nobody changes it"));
                    }
                },
                rule -> {});

        epochs.open(told::set);
        epochs.readAnew();
        assertThat(readings).hasValue(1);
        older.tryEmitValue(new TreeMap<>());

        Await.until("it follows", ofSeconds(5), () -> told.get() != null);
        assertThat(told.get()).isEqualTo(new PolicyEpochs.Rule(1, NEW, OLD, 0));
        assertThat(readings).hasValue(2);
    }

    /** The first call comes about when the reading that began with the limiter ends. */
    @Test
    void callThatComesWhenTheReadingEndsDoesNotReadAgain() {
        int rounds = 20_000;
        AtomicInteger readings = new AtomicInteger();
        PolicyEpochs.Registry registry = new PolicyEpochs.Registry() {
            @Override
            public Mono<NavigableMap<Long, String>> register(PolicyEpochs.Rule rule) {
                readings.incrementAndGet();
                return Mono.just(new TreeMap<>());
            }

            @Override
            public Mono<NavigableMap<Long, String>> change(PolicyEpochs.Rule rule, RateLimitPolicy to) {
                return Mono.error(new AssertionError("nobody changes it"));
            }
        };
        for (int i = 0; i < rounds; i++) {
            PolicyEpochs epochs = new PolicyEpochs(settings(name, time), 0, registry, rule -> {});
            epochs.open(rule -> {});
            epochs.ruled(Mono::empty).block(PATIENCE);
        }
        assertThat(readings).hasValue(rounds);
    }

    /** Hears at once, and lets nobody go on until what was read because of that is known. */
    private static final class QuickSignals implements Signals {

        private final PolicyEpochs epochs;
        private final Queue<String> published = new ConcurrentLinkedQueue<>();

        QuickSignals(PolicyEpochs epochs) {
            this.epochs = epochs;
        }

        @Override
        public void publish(Kind kind, String subject) {
            published.add(kind + " " + subject);
        }

        @Override
        public void listen(Listener listener) {
            listener.reconnected();
            Await.until("the policies are read", epochs::isSettled);
        }

        @Override
        public Mono<Void> close() {
            return Mono.empty();
        }
    }

    @Test
    void newerPolicyIsAnnouncedHoweverSoonTheSignalsAreThere() {
        LimiterSettings settings = settings(name, time);
        StoreOptions options = StoreOptions.DEFAULT.toBuilder().policyEpoch(2).build();
        ScriptCaller caller = new ScriptCaller(RedisLink.of(connection), time, ofSeconds(60));
        RedisCalls calls = new RedisCalls(settings, caller, new RedisKeys("test", name), options);
        QuickSignals signals = new QuickSignals(calls.epochs());
        Unavailability unavailability = new Unavailability(
                settings, options.failureMode(), calls.breaker(), new LocalSpending(settings, calls, 10));

        new RedisState(settings, calls, unavailability, signals, options);

        Await.until("it is announced", () -> signals.published.contains("EPOCH 2"));
    }
}

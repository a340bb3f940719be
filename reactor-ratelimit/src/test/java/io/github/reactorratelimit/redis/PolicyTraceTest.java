package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Ledger;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Random traces with changes of policy, on one process and on two that share a Redis; a process is a store of its own here. */
@Tag("slow")
@ExtendWith(RedisExtension.class)
class PolicyTraceTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int FLOWING_TRACES = FULL ? 400 : 16;
    private static final int FROZEN_TRACES = FULL ? 100 : 4;
    private static final int FROZEN_STEPS = 200;
    private static final int AT_A_TIME = 4;
    private static final Duration LONGEST_DEADLINE = Duration.ofMinutes(1);
    private static final Duration PATIENCE = Duration.ofMinutes(FULL ? 60 : 5);

    private final Standalone redis;
    private final StatefulRedisConnection<String, String> clock;
    private final List<RedisStore> stores = new ArrayList<>();
    private final Scheduler threads = Schedulers.newBoundedElastic(AT_A_TIME, Integer.MAX_VALUE, "traces");
    private final Ledger ledger = new Ledger();

    PolicyTraceTest(Standalone redis) {
        this.redis = redis;
        this.clock = redis.connect();
    }

    @AfterEach
    void close() {
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(Await.LONG);
        threads.dispose();
        clock.close();
    }

    private void connect(int processes) {
        for (int i = 0; i < processes; i++) {
            stores.add(RedisStore.connect(redis.uri())
                    .block(Await.LONG)
                    .withoutSelfTest()
                    .whenUnavailable(FailureMode.closed())
                    .withDeadline(LONGEST_DEADLINE));
        }
    }

    private List<RateLimiter> limiters(RateLimitPolicy policy, Stream<RedisStore> in) {
        String name = "trace-" + UUID.randomUUID();
        return in.map(store -> RateLimiter.builder(policy)
                        .name(name)
                        .store(store)
                        .recorder(ledger)
                        .build())
                .toList();
    }

    private void each(int traces, Consumer<SplittableRandom> trace) {
        SplittableRandom random = new SplittableRandom(Seeds.of("policy traces"));
        Flux.range(0, traces)
                .map(i -> random.split())
                .flatMap(own -> Mono.fromRunnable(() -> trace.accept(own)).subscribeOn(threads), AT_A_TIME)
                .blockLast(PATIENCE);
    }

    private static void closeAll(List<RateLimiter> limiters) {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(Await.LONG);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void nobodyGetsMoreThanThePoliciesInForceGiveAndWhoWaitsLeavesAsTheySay(int processes) {
        connect(processes);
        List<FlowingTrace> traces = new ArrayList<>();
        each(FLOWING_TRACES, random -> {
            PaperReigns.Bucket first = FlowingTrace.randomBucket(random);
            List<RateLimiter> limiters = limiters(first.policy(), stores.stream());
            FlowingTrace trace = new FlowingTrace(limiters, first, clock, random);
            trace.run();
            closeAll(limiters);
            synchronized (traces) {
                traces.add(trace);
            }
        });
        assertThat(ledger.settled()).isEqualTo(sum(traces, FlowingTrace::settled));
        assertThat(ledger.open()).isEqualTo(sum(traces, FlowingTrace::open));
        long movedOn = sum(traces, FlowingTrace::leftUnderAnotherPolicy);
        System.out.printf(
                "%d traces, %d policies, %d of which took over a debt; %d grants, %d of them waited for, %d under another policy"
                        + " than they came to; %d denials of waiters%n",
                FLOWING_TRACES,
                sum(traces, trace -> trace.paper().count()),
                sum(traces, trace -> trace.paper().carriedOver()),
                sum(traces, trace -> trace.paper().grants()),
                sum(traces, FlowingTrace::left),
                movedOn,
                sum(traces, FlowingTrace::denied));
        assertThat(movedOn).isPositive();
        assertThat(sum(traces, trace -> trace.paper().carriedOver())).isPositive();
    }

    private interface Count<T> {
        long of(T trace);
    }

    private static <T> long sum(List<T> traces, Count<T> count) {
        return traces.stream().mapToLong(count::of).sum();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void whatIsSpentIsWhatWasSettledWhateverPolicyRules(int processes) {
        connect(processes);
        List<FrozenTrace> traces = new ArrayList<>();
        each(FROZEN_TRACES, random -> {
            RateLimitPolicy first = FrozenTrace.randomPolicy(random);
            // What another process gives back would be noticed up to a second later.
            List<RateLimiter> limiters = limiters(first, stores.stream().map(RedisStore::withoutDenialCache));
            FrozenTrace trace = new FrozenTrace(limiters, first, random);
            for (int step = 0; step < FROZEN_STEPS; step++) {
                trace.step();
            }
            closeAll(limiters);
            synchronized (traces) {
                traces.add(trace);
            }
        });
        assertThat(ledger.settled()).isEqualTo(sum(traces, FrozenTrace::settled));
        assertThat(ledger.uncharged()).isEqualTo(sum(traces, FrozenTrace::uncharged));
        assertThat(ledger.lost()).isEqualTo(sum(traces, FrozenTrace::lost));
        assertThat(sum(traces, FrozenTrace::changes)).isPositive();
    }
}

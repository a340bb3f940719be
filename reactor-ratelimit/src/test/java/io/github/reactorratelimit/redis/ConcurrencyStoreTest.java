package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import io.github.reactorratelimit.testing.redis.CommandCount;
import io.github.reactorratelimit.testing.redis.Dedicated;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** Concurrency limits shared by two instances, each with a connection of its own. */
@ExtendWith(RedisExtension.class)
class ConcurrencyStoreTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final Duration PATIENCE = ofSeconds(30);

    private final String name = "shared-" + UUID.randomUUID();
    private final Standalone server;
    private final List<StatefulRedisConnection<String, String>> connections = new ArrayList<>();
    private final AtomicInteger degraded = new AtomicInteger();
    private final AtomicLong refundsLost = new AtomicLong();

    ConcurrencyStoreTest(@Dedicated Standalone server) {
        this.server = server;
    }

    @AfterEach
    void close() {
        connections.forEach(StatefulRedisConnection::close);
    }

    private StatefulRedisConnection<String, String> connect() {
        connections.add(server.connect());
        return connections.get(connections.size() - 1);
    }

    private RedisStore store() {
        return RedisStore.of(connect()).withoutSelfTest().withDeadline(PATIENCE);
    }

    private RateLimiter limiter(ConcurrencyLimit limit) {
        return RateLimiter.builder(limit).name(name).store(store()).build();
    }

    private static Lease tryLease(RateLimiter limiter, String key) {
        return limiter.acquireLease(key, 1, ZERO).block(PATIENCE);
    }

    @Test
    void neverMoreInFlightThanTheMaximumOverTwoInstances() {
        long seed = Seeds.of("leases of two instances");
        int max = 7;
        int works = FULL ? 20_000 : 1_500;
        List<RateLimiter> instances = List.of(limiter(ConcurrencyLimit.of(max)), limiter(ConcurrencyLimit.of(max)));
        AtomicLong inFlight = new AtomicLong();
        AtomicLong most = new AtomicLong();
        SplittableRandom random = new SplittableRandom(seed);
        Flux.range(0, works)
                .map(i -> random.split())
                .flatMap(
                        own -> {
                            long permits = 1 + own.nextInt(3);
                            Mono<Long> work = Mono.delay(Duration.ofNanos(own.nextInt(500_000)))
                                    .doOnTerminate(() -> inFlight.addAndGet(-permits));
                            return instances.get(own.nextInt(2)).use("k", permits, Mono.defer(() -> {
                                most.accumulateAndGet(inFlight.addAndGet(permits), Math::max);
                                return work;
                            }));
                        },
                        64)
                .blockLast(ofSeconds(120));
        System.out.printf("two instances: %d works, at most %d of %d in flight%n", works, most.get(), max);
        assertThat(most).hasValueBetween(4, max);
        assertThat(instances.get(0).peek("k").block(PATIENCE).remaining()).isEqualTo(max);
    }

    @Test
    void waitersOfAnotherInstanceAreServedByARelease() {
        RateLimiter one = limiter(ConcurrencyLimit.of(1));
        RateLimiter other = limiter(ConcurrencyLimit.of(1));
        Lease held = tryLease(one, "k");
        for (int i = 0; i < 10; i++) {
            RateLimiter next = i % 2 == 0 ? other : one;
            Mono<Lease> waiting = next.acquireLease("k", 1, PATIENCE).cache();
            waiting.subscribe();
            held.release().block(PATIENCE);
            held = waiting.block(PATIENCE);
        }
        held.release().block(PATIENCE);
        assertThat(one.peek("k").block(PATIENCE).remaining()).isEqualTo(1);
    }

    @Test
    void releaseElsewhereIsHeardThroughSignals() {
        RedisClient client = RedisClient.create(server.uri());
        try (StatefulRedisPubSubConnection<String, String> pubSub = client.connectPubSub()) {
            RateLimiter waits = RateLimiter.builder(ConcurrencyLimit.of(1))
                    .name(name)
                    .store(store().withSignals(pubSub))
                    .build();
            RateLimiter holds = limiter(ConcurrencyLimit.of(1));
            Lease held = tryLease(holds, "k");
            AtomicLong served = new AtomicLong();
            Await.until(
                    "the line to listen",
                    () -> pubSub.sync().pubsubNumsub(channel()).get(channel()) == 1);
            CommandCount count = CommandCount.on(server);
            waits.acquireLease("k", 1, PATIENCE).subscribe(lease -> served.incrementAndGet());
            Await.until("the line to ask rarely", () -> count.scripts() >= 7);
            held.release().block(PATIENCE);
            Await.until("a signal", () -> count.calls("publish") == 1);
            Await.until("the waiter", () -> served.get() == 1);
            waits.close().block(PATIENCE);
        } finally {
            client.shutdown(ZERO, ofSeconds(1));
        }
    }

    private String channel() {
        return "ratelimit:{" + name + "}:signals";
    }

    /**
     * A scheduler that can end without a lock: an executor that is shut down while a reply is handed to it makes that
     * thread wait for the lock of its pool.
     */
    private static final class MortalScheduler implements Scheduler {

        private final Scheduler threads = Schedulers.parallel();
        private volatile boolean dead;

        private Runnable whileAlive(Runnable task) {
            if (dead) {
                throw Exceptions.failWithRejected();
            }
            return () -> {
                if (!dead) {
                    task.run();
                }
            };
        }

        @Override
        public Disposable schedule(Runnable task) {
            return threads.schedule(whileAlive(task));
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            return threads.schedule(whileAlive(task), delay, unit);
        }

        @Override
        public Worker createWorker() {
            return threads.createWorker();
        }

        @Override
        public void dispose() {
            dead = true;
        }

        @Override
        public boolean isDisposed() {
            return dead;
        }
    }

    /** The scheduler of the holder is gone, as if its process were: no lease is renewed. */
    @Test
    void leaseOfADeadHolderGoesToWhoWaits() {
        ConcurrencyLimit limit = ConcurrencyLimit.of(1).withLease(ofMillis(100));
        Scheduler mortal = new MortalScheduler();
        RateLimiter dying = RateLimiter.builder(limit)
                .name(name)
                .store(store())
                .scheduler(mortal)
                .build();
        tryLease(dying, "k");
        mortal.dispose();
        limiter(limit).acquireLease("k", 1, PATIENCE).flatMap(Lease::release).block(PATIENCE);
    }

    @Test
    void livingHolderKeepsItsLeaseLongerThanItLasts() {
        ConcurrencyLimit limit = ConcurrencyLimit.of(1).withLease(ofSeconds(1));
        Lease held = tryLease(limiter(limit), "k");
        String stored = "ratelimit:{" + name + ":k}:leases";
        var redis = connections.get(0).sync();
        double firstEnd = redis.zrangeWithScores(stored, -1, -1).get(0).getScore();
        RateLimiter other = limiter(limit);
        Await.until("the end of the lease as it was taken", () -> {
            assertThat(other.peek("k").block(PATIENCE).allowed()).isFalse();
            List<String> time = redis.time();
            return Long.parseLong(time.get(0)) * 1e6 + Long.parseLong(time.get(1)) > firstEnd + 500_000;
        });
        held.release().block(PATIENCE);
        assertThat(other.peek("k").block(PATIENCE).allowed()).isTrue();
    }

    @Test
    void whoLeavesBeforeTheAnswerComesKeepsNothing() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(100_000));
        Leavers.leave(
                FULL ? 100_000 : 5_000,
                i -> i % 2 == 0 ? limiter.acquireLease("try", 1, ZERO) : limiter.acquireLease("wait", 1, PATIENCE),
                Lease::release);
        Await.until(
                "all permits back",
                () -> limiter.peek("try").block(PATIENCE).remaining() == 100_000
                        && limiter.peek("wait").block(PATIENCE).remaining() == 100_000);
    }

    @Test
    void asksUnderWayForOneKeyShareACall() {
        RateLimiter limiter = limiter(ConcurrencyLimit.of(100_000));
        tryLease(limiter, "warm-up");
        CommandCount count = CommandCount.on(server);
        tryLease(limiter, "k");
        assertThat(count.scripts()).isEqualTo(1);
        int leases = 5_000;
        Flux.range(0, leases)
                .flatMap(i -> limiter.acquireLease("k", 1, ZERO), 64)
                .blockLast(PATIENCE);
        System.out.printf("coalescing: %d leases in %d calls%n", leases, count.scripts());
        assertThat(count.scripts()).isLessThanOrEqualTo(leases / 16);
        assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(100_000 - leases - 1);
    }

    @Test
    void corruptStateIsAnErrorAndNeverOpen() {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(1))
                .name(name)
                .store(store().whenUnavailable(FailureMode.open()))
                .build();
        connections.get(0).sync().set("ratelimit:{" + name + ":k}:leases", "abc");
        assertThatThrownBy(() -> tryLease(limiter, "k")).isInstanceOf(RedisCorruptStateException.class);
    }

    @Test
    void everyModeAnswersAndCountsWhileRedisIsSilent() {
        RedisClient client = RedisClient.create();
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        try (FaultProxy proxy = FaultProxy.before(server.uri());
                StatefulRedisConnection<String, String> connection = client.connect(proxy.uri())) {
            RedisStore store = RedisStore.of(connection).withDeadline(ofSeconds(10));
            RateLimiter open = degrading(store, s -> s.whenUnavailable(FailureMode.open()));
            RateLimiter closed = degrading(store, s -> s.whenUnavailable(FailureMode.closed()));
            RateLimiter local = degrading(store, s -> s.whenUnavailable(FailureMode.local(ConcurrencyLimit.of(2))));
            Lease heldInRedis = tryLease(closed, "k");
            proxy.refuse();
            for (int i = 0; i < 5; i++) {
                Lease unlimited = tryLease(open, "k");
                assertThat(unlimited.decision().degradation()).contains(Degradation.OPEN);
                unlimited.release().block(PATIENCE);
                assertThat(denial(closed).degradation()).contains(Degradation.CLOSED);
                Lease first = tryLease(local, "k");
                Lease second = tryLease(local, "k");
                assertThat(denial(local).degradation()).contains(Degradation.LOCAL);
                assertThat(local.peek("k").block(PATIENCE).allowed()).isFalse();
                first.release().then(second.release()).block(PATIENCE);
                assertThat(local.peek("k").block(PATIENCE).remaining()).isEqualTo(2);
            }
            assertThat(degraded).hasValue(5 * 7);
            heldInRedis.release().block(PATIENCE);
            assertThat(refundsLost).hasValue(1);
        } finally {
            client.shutdown(ZERO, ofSeconds(1));
        }
    }

    private static Decision denial(RateLimiter limiter) {
        return limiter.acquireLease("k", 1, ZERO)
                .map(Lease::decision)
                .onErrorResume(RateLimitExceededException.class, denied -> Mono.just(denied.decision()))
                .filter(decision -> !decision.allowed())
                .block(PATIENCE);
    }

    private RateLimiter degrading(RedisStore store, UnaryOperator<RedisStore> mode) {
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event == Event.REFUND_LOST) {
                    refundsLost.addAndGet(permits);
                } else if (event.name().startsWith("DEGRADED")) {
                    degraded.incrementAndGet();
                }
            }
        };
        return RateLimiter.builder(ConcurrencyLimit.of(10))
                .name(name)
                .store(mode.apply(store))
                .recorder(recorder)
                .build();
    }

    /** Leases of a process that died, on many keys that travel together: the server must not be busy with all of them. */
    @Test
    void callRemovesAFewHundredLeasesThatAreOverWhateverTheNumberOfKeys() {
        int keys = 40;
        int max = 500;
        RateLimiter limiter = limiter(new ConcurrencyLimit(max, ofSeconds(30)));
        RedisCommands<String, String> admin = connect().sync();
        long past = Long.parseLong(admin.time().get(0)) * 1_000_000 - 1;
        for (int key = 0; key < keys; key++) {
            List<Object> leases = new ArrayList<>(List.of((double) -max, "used"));
            for (int i = 0; i < max; i++) {
                leases.addAll(List.of((double) past, "gone." + i + " 1 1000000"));
            }
            admin.zadd(stored(key), leases.toArray());
        }
        tryLease(limiter, "other");
        CommandCount count = CommandCount.on(server);
        admin.clientPause(500);
        List<Lease> taken = Flux.range(0, keys)
                .flatMap(key -> limiter.acquireLease("k" + key, 1, ZERO), keys)
                .collectList()
                .block(PATIENCE);
        assertThat(taken).hasSize(keys);
        long calls = count.scripts();
        assertThat(calls).as("most keys travel together").isLessThan(keys / 2);
        long removed = 0;
        for (int key = 0; key < keys; key++) {
            // Beside those that are over there are the new lease and the total.
            removed += max - (admin.zcard(stored(key)) - 2);
        }
        assertThat(removed).isLessThanOrEqualTo(500 * calls);
        assertThat(limiter.peek("k0").block(PATIENCE).remaining()).isEqualTo(max - 1);
    }

    private String stored(int key) {
        return "ratelimit:{" + name + ":k" + key + "}:leases";
    }
}

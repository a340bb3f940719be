package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.FaultProxy;
import io.github.reactorratelimit.testing.redis.RedisServer;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Redis loses its state, or goes back to an older one, while an instance holds slots; then another instance comes with as
 * many waiters. What both let through afterwards stays within the stated bound.
 */
@Tag("slow")
class LostSlotsTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration MEASURED = FULL ? ofSeconds(4) : ofMillis(2_500);
    private static final String KEY = "k";
    private static final int RATE = 100;
    private static final int BURST = 10;
    private static final int WAITERS = 600;

    /** Of the waiters, those whose slots are in the older state. */
    private static final int EARLY_WAITERS = 200;

    /** How long an instance may use slots without a look at Redis. */
    private static final Duration UNCHECKED = ofMillis(250);

    private enum Fault {
        KILL("kill -9, restart empty") {
            @Override
            void strike(RedisServer server) {
                server.kill();
                server.restart();
            }
        },
        FLUSHALL("FLUSHALL") {
            @Override
            void strike(RedisServer server) {
                server.ask(RedisCommands::flushall);
            }
        },
        DEL("DEL of the key") {
            @Override
            void strike(RedisServer server) {
                server.ask(redis -> redis.del(redis.keys("*{*" + KEY + "}*").toArray(String[]::new)));
            }
        },
        OLDER("restart with an older state") {
            @Override
            void remember(RedisServer server) {
                server.ask(RedisCommands::save);
            }

            @Override
            void strike(RedisServer server) {
                server.kill();
                server.restart();
            }
        };

        private final String title;

        Fault(String title) {
            this.title = title;
        }

        void remember(RedisServer server) {}

        abstract void strike(RedisServer server);
    }

    private record Cell(RateLimitPolicy policy, Fault fault) {}

    /**
     * Who left.
     *
     * @param slotMicros the time of its slot, on the clock of this machine, which is the server's
     * @param toldMicros when its subscriber heard of it
     */
    private record Grant(long slotMicros, long toldMicros) {}

    /**
     * @param slots that lie in the time from the fault on and were used
     * @param left those who left in that time
     * @param seconds that time
     * @param late how late the latest of them was told
     */
    private record Row(Cell cell, long slots, long left, double seconds, double late) {

        static Row of(Cell cell, List<Grant> grants, long fromMicros, long toMicros) {
            long slots = grants.stream()
                    .filter(grant -> grant.slotMicros > fromMicros && grant.slotMicros <= toMicros)
                    .count();
            List<Grant> told = grants.stream()
                    .filter(grant -> grant.toldMicros > fromMicros && grant.toldMicros <= toMicros)
                    .toList();
            long late = told.stream()
                    .mapToLong(grant -> grant.toldMicros - grant.slotMicros)
                    .max()
                    .orElse(0);
            return new Row(cell, slots, told.size(), (toMicros - fromMicros) / 1e6, late / 1e6);
        }

        /** A lost state gives the burst once more. */
        double bound() {
            long burst = cell.policy instanceof LeakyBucket ? 1 : BURST;
            return 2 * burst + RATE * (seconds + UNCHECKED.toMillis() / 1e3);
        }

        @Override
        public String toString() {
            return "%-12s %-27s %5d slots, %5d left in %.2f s, bound %.0f, late by %.0f ms"
                    .formatted(
                            cell.policy.getClass().getSimpleName(),
                            cell.fault.title,
                            slots,
                            left,
                            seconds,
                            bound(),
                            1e3 * late);
        }
    }

    private static List<Cell> cells() {
        List<RateLimitPolicy> policies = List.of(
                TokenBucket.perSecond(RATE).withBurst(BURST),
                Gcra.perSecond(RATE).withBurst(BURST),
                LeakyBucket.perSecond(RATE).withQueue(4 * WAITERS));
        List<Cell> cells = new ArrayList<>();
        policies.forEach(policy -> Arrays.stream(Fault.values()).forEach(fault -> cells.add(new Cell(policy, fault))));
        return cells;
    }

    @Test
    void slotsOfAStateThatWasLostAreNotUsed() {
        List<Row> table = Flux.fromIterable(cells())
                .flatMapSequential(
                        cell -> Mono.fromCallable(() -> run(cell)).subscribeOn(Schedulers.boundedElastic()), 6)
                .collectList()
                .block(ofSeconds(300));

        table.forEach(System.out::println);
        assertThat(table)
                .allSatisfy(
                        row -> assertThat((double) row.slots).as(row.toString()).isLessThanOrEqualTo(row.bound()))
                // A grant that is told late was due before: the bound holds over the time and that lateness.
                .allSatisfy(row -> assertThat((double) row.left)
                        .as(row.toString())
                        .isLessThanOrEqualTo(row.bound() + RATE * row.late));
    }

    /** Whoever holds slots of many keys reads them in a few calls, not in one for each. */
    @Test
    void slotsOfManyKeysAreReadTogether() {
        int keys = 300;
        try (RedisServer server = RedisServer.start();
                FaultProxy proxy = FaultProxy.before(server.uri())) {
            RedisStore store = RedisStore.connect(proxy.uri()).block(PATIENCE).withoutSelfTest();
            RateLimiter limiter = limiter(store.withDeadline(PATIENCE), TokenBucket.of(1, Duration.ofDays(1)));
            for (int i = 0; i < 2 * keys; i++) {
                limiter.acquire(KEY + i % keys).subscribe(allowed -> {}, closed -> {});
            }
            Await.until(
                    "all have slots",
                    PATIENCE,
                    () -> Flux.range(0, keys)
                            .flatMap(i -> limiter.peek(KEY + i))
                            .map(decision -> decision.retryAfter().orElseThrow().compareTo(Duration.ofDays(1)) > 0)
                            // all() would cancel the others, whose answers may be on their way.
                            .reduce(Boolean::logicalAnd)
                            .block(PATIENCE));

            long before = scriptCalls(proxy);
            long beganNanos = System.nanoTime();
            Await.until(
                    "a second",
                    PATIENCE,
                    () -> System.nanoTime() - beganNanos > ofSeconds(1).toNanos());
            long calls = scriptCalls(proxy) - before;
            System.out.printf("slots of %d keys are read by %d calls in a second%n", keys, calls);
            assertThat(calls).isBetween(1L, (long) keys);
            limiter.close().block(PATIENCE);
            store.close().block(PATIENCE);
        }
    }

    private static long scriptCalls(FaultProxy proxy) {
        return proxy.commands("EVALSHA") + proxy.commands("EVAL");
    }

    private static Row run(Cell cell) {
        Queue<Grant> left = new ConcurrentLinkedQueue<>();
        Queue<Grant> leftOther = new ConcurrentLinkedQueue<>();
        try (RedisServer server = RedisServer.start()) {
            RedisStore oneStore = store(server);
            RedisStore otherStore = store(server);
            RateLimiter one = limiter(oneStore, cell.policy);
            RateLimiter other = limiter(otherStore, cell.policy);
            wait(one, EARLY_WAITERS, left);
            awaitSlots(one, EARLY_WAITERS, left);
            cell.fault.remember(server);
            wait(one, WAITERS - EARLY_WAITERS, left);
            awaitSlots(one, WAITERS, left);

            long beganNanos = System.nanoTime();
            long beganMicros = nowMicros();
            cell.fault.strike(server);
            Await.until(
                    "Redis answers again",
                    PATIENCE,
                    () -> !other.peek(KEY).block(PATIENCE).degraded());
            wait(other, WAITERS, leftOther);
            Await.until("measured", PATIENCE, () -> System.nanoTime() - beganNanos > MEASURED.toNanos());
            long endedMicros = nowMicros();
            int leftOne = left.size();
            Await.until("whoever lost a slot leaves at another one", PATIENCE, () -> left.size() > leftOne);

            Flux.just(one, other).flatMap(RateLimiter::close).blockLast(PATIENCE);
            Flux.just(oneStore, otherStore).flatMap(RedisStore::close).blockLast(PATIENCE);
            return Row.of(cell, Stream.concat(left.stream(), leftOther.stream()).toList(), beganMicros, endedMicros);
        }
    }

    private static long nowMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    }

    private static RedisStore store(RedisServer server) {
        return RedisStore.connect("redis://127.0.0.1:" + server.port())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(ofSeconds(1));
    }

    private static RateLimiter limiter(RedisStore store, RateLimitPolicy policy) {
        return RateLimiter.builder(policy).name("lost").store(store).build();
    }

    private static void wait(RateLimiter limiter, int count, Queue<Grant> left) {
        for (int i = 0; i < count; i++) {
            limiter.acquire(KEY)
                    .filter(Decision::allowed)
                    .map(allowed -> allowed.debit().orElseThrow().atTick())
                    .subscribe(slot -> left.add(new Grant(slot, nowMicros())), closed -> {});
        }
    }

    /** Until everybody has a slot: whoever comes now would leave behind all who have not left. */
    private static void awaitSlots(RateLimiter limiter, int count, Queue<Grant> left) {
        Await.until("slots of all", PATIENCE, () -> {
            Duration wait = limiter.peek(KEY).block(PATIENCE).retryAfter().orElse(Duration.ZERO);
            return wait.toMillis() >= (count - left.size() - 2 * BURST) * 1_000L / RATE;
        });
    }
}

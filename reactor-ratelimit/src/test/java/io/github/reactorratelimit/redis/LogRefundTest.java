package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** Refunds of a sliding window log keep the server for a bounded time, however many entries the log has. */
class LogRefundTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int ENTRIES = Boolean.getBoolean("ratelimit.tests.full") ? 10_000 : 4_000;

    /** As many as share a call. */
    private static final int BATCH = 256;

    /** Entries so young that their refunds are never lost. */
    private static final int YOUNG = 128;

    private static final int ROUNDS = 3;

    /** How much longer the longer log is. */
    private static final int TIMES_LONGER = 8;

    private static Standalone redis;
    private static StatefulRedisConnection<String, String> connection;

    @BeforeAll
    static void open() {
        redis = Standalone.start("slowlog-log-slower-than 0", "slowlog-max-len 100000");
        connection = redis.connect();
    }

    @AfterAll
    static void close() {
        connection.close();
        redis.close();
    }

    private static final class Log {

        private final LongAdder refunded = new LongAdder();
        private final LongAdder lost = new LongAdder();
        private final int entries;
        private final RateLimiter limiter;
        private final List<Decision> taken;

        Log(int entries) {
            this.entries = entries;
            this.limiter = RateLimiter.builder(SlidingWindowLog.of(entries, Duration.ofHours(1)))
                    .name("log-" + UUID.randomUUID())
                    .recorder(new RateLimitRecorder() {
                        @Override
                        public void counted(Event event, long permits) {
                            if (event == Event.REFUNDED) {
                                refunded.add(permits);
                            } else if (event == Event.REFUND_LOST) {
                                lost.add(permits);
                            }
                        }
                    })
                    .store(RedisStore.of(connection)
                            .withDeadline(PATIENCE)
                            .withoutSelfTest()
                            .withoutDenialCache())
                    .build();
            // One after the other: each has a time of its own, and so an entry of its own.
            this.taken = Flux.range(0, entries)
                    .concatMap(i -> limiter.tryAcquire("k"))
                    .collectList()
                    .block(PATIENCE);
            assertThat(taken).allMatch(Decision::allowed);
            assertThat(remaining()).isZero();
        }

        long remaining() {
            return limiter.peek("k").block(PATIENCE).remaining();
        }

        /** What the refunds cost the server: processor time, so that it does not count what else the machine does. */
        double refund(int from, int count) {
            connection.sync().slowlogReset();
            double before = cpuMillis();
            Flux.fromIterable(taken.subList(from, from + count))
                    .flatMap(limiter::refund, count)
                    .then()
                    .block(PATIENCE);
            double millis = cpuMillis() - before;
            double longest = connection.sync().slowlogGet(100_000).stream()
                    .map(entry -> (List<?>) entry)
                    .filter(entry -> entry.get(3).toString().contains(limiter.name()))
                    .mapToLong(entry -> (Long) entry.get(2))
                    .max()
                    .orElseThrow();
            System.out.printf(
                    "%d refunds of entries from %d on, of %d: %.2f ms of the server, the longest call %.2f ms by the clock; %d lost so far%n",
                    count, from, entries, millis, longest / 1_000, lost.sum());
            return millis;
        }

        /** The least of some rounds of old entries. */
        double leastOfOld(int count) {
            return IntStream.range(0, ROUNDS)
                    .mapToDouble(round -> refund(round * count, count))
                    .min()
                    .orElseThrow();
        }
    }

    private static double cpuMillis() {
        return connection
                .sync()
                .info("cpu")
                .lines()
                .filter(line -> line.startsWith("used_cpu_sys:") || line.startsWith("used_cpu_user:"))
                .mapToDouble(line -> 1_000 * Double.parseDouble(line.substring(line.indexOf(':') + 1)))
                .sum();
    }

    @Test
    void refundsOfOldEntriesDoNotKeepTheServerForTheLengthOfTheLog() {
        Log shorter = new Log(ENTRIES / TIMES_LONGER);
        Log longer = new Log(ENTRIES);
        int batch = Math.min(BATCH, shorter.entries / ROUNDS);

        assertThat(longer.leastOfOld(batch)).isLessThan(shorter.leastOfOld(batch) * TIMES_LONGER / 2);
    }

    @Test
    void whatIsNotLostComesBackAndNothingElse() {
        Log log = new Log(ENTRIES / 4);
        int from = log.entries - YOUNG;
        log.refund(from, YOUNG);
        assertThat(log.refunded.sum()).isEqualTo(YOUNG);
        assertThat(log.lost.sum()).isZero();
        assertThat(log.remaining()).isEqualTo(YOUNG);

        log.refund(0, from);
        assertThat(log.refunded.sum() + log.lost.sum()).isEqualTo(log.entries);
        assertThat(log.remaining()).isEqualTo(log.refunded.sum());
        assertThat(log.limiter
                        .tryAcquire("k", log.refunded.sum())
                        .block(PATIENCE)
                        .allowed())
                .isTrue();
        assertThat(log.limiter.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
    }
}

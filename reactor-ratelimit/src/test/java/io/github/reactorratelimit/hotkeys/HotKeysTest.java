package io.github.reactorratelimit.hotkeys;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HotKeysTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final int ASKS = FULL ? 10_000_000 : 1_000_000;
    private static final int KEYS = 1_000_000;
    private static final int THREADS = 4;

    private static List<String> hashes(List<HotKey> keys) {
        return keys.stream().map(HotKey::hash).toList();
    }

    /** The n-th key asks an n-th as often as the first; four threads, one of them reads now and then. */
    @Test
    void topTwentyOfAZipfTraceAreFoundAndTheirTrueCountsLieWithinTheBounds() throws Exception {
        long seed = Seeds.of("hot keys");
        HotKeys hot = HotKeys.top(20);
        AtomicLongArray exact = new AtomicLongArray(KEYS);
        runOnThreads(thread -> {
            SplittableRandom random = new SplittableRandom(seed + thread);
            for (int i = 0; i < ASKS / THREADS; i++) {
                int key = (int) Math.exp(random.nextDouble() * Math.log(KEYS));
                exact.incrementAndGet(key);
                hot.decided("key" + key, false, 1);
                if (thread == 0 && i % 50_000 == 0) {
                    hot.mostDenied().subscribe();
                }
            }
        });
        List<HotKey> found = hot.mostDenied().block(PATIENCE);
        List<Integer> trueTop = IntStream.range(0, KEYS)
                .boxed()
                .sorted((one, other) -> Long.compare(exact.get(other), exact.get(one)))
                .limit(20)
                .toList();
        long hits = trueTop.stream()
                .filter(key -> hashes(found).contains(hot.hashOf("key" + key)))
                .count();
        System.out.printf("hot keys: recall of the top 20 in %,d asks of %,d keys: %d %%%n", ASKS, KEYS, hits * 5);
        assertThat(hits).isGreaterThanOrEqualTo(19);
        assertThat(hot.mostUsed().block(PATIENCE)).isEmpty();
        Map<String, Long> countOf = new HashMap<>();
        IntStream.range(0, 1_000).forEach(key -> countOf.put(hot.hashOf("key" + key), exact.get(key)));
        for (HotKey key : found) {
            assertThat(countOf.get(key.hash())).as("%s", key).isBetween(key.atLeast(), key.atMost());
        }
        HotKey first = found.get(0);
        System.out.printf("hot keys: first %d to %d%n", first.atLeast(), first.atMost());
        assertThat(first.atMost() - first.atLeast()).isLessThan(ASKS / 500);
    }

    private interface ThreadBody {
        void run(int thread);
    }

    private static void runOnThreads(ThreadBody body) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                running.add(threads.submit(() -> body.run(thread)));
            }
            for (Future<?> one : running) {
                one.get(PATIENCE.toSeconds() * 4, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** What is counted and what is missed is all that was said; nothing is counted twice or lost on the way. */
    @Test
    void everyPermitIsCountedOrMissed() throws Exception {
        KeyCounter tally = new KeyCounter(16, 2);
        AtomicBoolean reading = new AtomicBoolean(true);
        Thread reader = new Thread(() -> {
            while (reading.get()) {
                tally.top(10).block(PATIENCE);
            }
        });
        reader.start();
        int each = 200_000;
        runOnThreads(thread -> IntStream.range(0, each).forEach(i -> tally.add(1 + i % 3, 1)));
        reading.set(false);
        reader.join();
        List<HotKey> all = tally.top(10).block(PATIENCE);
        assertThat(all).hasSize(3);
        assertThat(all.stream().mapToLong(HotKey::atLeast).sum() + tally.missed())
                .isEqualTo((long) THREADS * each);
    }

    @Test
    void limiterTellsUsedAndDeniedKeysByHashOnly() {
        HotKeys hot = HotKeys.top(2);
        RateLimiter limiter =
                RateLimiter.builder(Gcra.of(4, ofHours(10))).keyRecorder(hot).build();
        String longKey = "k".repeat(300);
        limiter.tryAcquire(longKey, 4).block(PATIENCE);
        DirectLimiter.of(limiter).tryAcquireNow("alice", 2);
        DirectLimiter.of(limiter).decideNow("alice", 1, false);
        limiter.acquire("bob").block(PATIENCE);
        DirectLimiter.of(limiter).decideNow("alice", 2, false);
        limiter.tryAcquire("bob", 4).block(PATIENCE);
        assertThat(hot.mostUsed().block(PATIENCE))
                .containsExactly(new HotKey(hot.hashOf(longKey), 4, 4), new HotKey(hot.hashOf("alice"), 3, 3));
        assertThat(hot.mostDenied().block(PATIENCE))
                .containsExactly(new HotKey(hot.hashOf("bob"), 4, 4), new HotKey(hot.hashOf("alice"), 2, 2));
        hot.clear().block(PATIENCE);
        assertThat(hot.mostUsed().block(PATIENCE)).isEmpty();
        assertThat(hot.mostDenied().block(PATIENCE)).isEmpty();
    }

    @Test
    void failingKeyRecorderHarmsNobody() {
        RateLimiter limiter = RateLimiter.builder(Gcra.of(4, ofHours(10)))
                .keyRecorder((key, allowed, permits) -> {
                    throw new IllegalStateException("broken");
                })
                .build();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("a", 1)).isTrue();
        assertThat(limiter.tryAcquire("a").block(PATIENCE).allowed()).isTrue();
    }

    @Test
    void hashesAreEqualOnlyWhereTheSecretIs() {
        HotKeys one = HotKeys.top(1).withSecret("pepper");
        assertThat(one.hashOf("a"))
                .isEqualTo(HotKeys.top(5).withSecret("pepper").hashOf("a"));
        assertThat(one.hashOf("a")).isNotEqualTo(one.hashOf("b"));
        assertThat(one.hashOf("a"))
                .isNotEqualTo(HotKeys.top(1).withSecret("salt").hashOf("a"));
        assertThat(HotKeys.top(1).hashOf("a")).isNotEqualTo(HotKeys.top(1).hashOf("a"));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 10_001})
    void numberOfKeysThatCannotBeToldIsRefused(int top) {
        assertThatThrownBy(() -> HotKeys.top(top)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void blankSecretIsRefused() {
        HotKeys hot = HotKeys.top(1);
        assertThatThrownBy(() -> hot.withSecret(" ")).isInstanceOf(IllegalArgumentException.class);
    }
}

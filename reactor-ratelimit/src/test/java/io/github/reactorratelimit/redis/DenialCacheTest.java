package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DenialCacheTest {

    private static final ServerClock CLOCK = ScriptSteps.clockAt(0);

    /** Of a bucket more is known: see BucketDenialTest. */
    private static final ScriptPolicy POLICY = ScriptPolicy.of(FixedWindow.of(10, ofHours(1)));

    private static final long ORIGIN = -5_000_000_000L;

    private final DenialCache cache = new DenialCache(100);

    private static CommandReply denial(long permits, Duration retryAfter) {
        return reply(permits, false, 2, retryAfter.toNanos() / 1_000);
    }

    private static CommandReply reply(long permits, boolean allowed, long remaining, long waitMicros) {
        return new CommandReply(
                Command.acquire(permits),
                POLICY,
                CommandReply.KeyStatus.plain(1),
                allowed,
                remaining,
                waitMicros,
                ofSeconds(90).toNanos() / 1_000,
                0,
                Algorithm.UNKNOWN,
                false,
                0,
                "");
    }

    private void learn(String key, CommandReply reply, long now) {
        cache.learn(key, reply, cache.generation(key), now, now);
    }

    private @Nullable Decision find(String key, long permits, long now) {
        return find(cache, key, POLICY, permits, now);
    }

    private static @Nullable Decision find(DenialCache cache, String key, ScriptPolicy policy, long permits, long now) {
        DenialCache.Known known = cache.known(key);
        return known == null ? null : cache.deny(known, key, policy, permits, permits, now);
    }

    @Test
    void timesOfADenialShrinkAndNeverReachZero() {
        learn("k", denial(3, ofMillis(800)), ORIGIN);

        Decision later = find("k", 4, ORIGIN + ofMillis(300).toNanos());

        assertThat(later.allowed()).isFalse();
        assertThat(later.permits()).isEqualTo(4);
        assertThat(later.remaining()).isEqualTo(2);
        assertThat(later.retryAfter()).contains(ofMillis(500));
        assertThat(later.resetAfter()).contains(ofMillis(89_700));
        assertThat(find("k", 3, ORIGIN + ofMillis(800).toNanos() - 1).retryAfter())
                .contains(ofNanos(1));
        assertThat(find("k", 3, ORIGIN + ofMillis(800).toNanos())).isNull();
    }

    @Test
    void denialIsKeptForASecondAtMost() {
        learn("k", denial(3, ofSeconds(60)), ORIGIN);

        assertThat(find("k", 3, ORIGIN + DenialCache.KEEP_NANOS - 1)).isNotNull();
        assertThat(find("k", 3, ORIGIN + DenialCache.KEEP_NANOS)).isNull();
    }

    @Test
    void denialEndsWhenRedisWouldAllowHoweverLongTheAnswerTook() {
        long answered = ORIGIN + ofMillis(30).toNanos();
        cache.learn("k", denial(3, ofMillis(100)), cache.generation("k"), ORIGIN, answered);

        assertThat(find("k", 3, ORIGIN + ofMillis(100).toNanos() - 1).retryAfter())
                .as("when the one who was denied comes back")
                .contains(ofMillis(30).plusNanos(1));
        assertThat(find("k", 3, ORIGIN + ofMillis(100).toNanos())).isNull();
    }

    @Test
    void cheaperAsksAndOtherPoliciesAreNotAnswered() {
        learn("k", denial(3, ofMillis(800)), ORIGIN);

        assertThat(find("k", 2, ORIGIN)).isNull();
        assertThat(find(cache, "k", ScriptPolicy.of(FixedWindow.of(11, ofHours(1))), 3, ORIGIN))
                .isNull();
        assertThat(find("k", 3, ORIGIN)).isNotNull();
    }

    @Test
    void whatIsAllowedEndsADearerDenial() {
        learn("k", denial(3, ofMillis(800)), ORIGIN);
        learn("k", reply(2, true, 0, 0), ORIGIN);

        assertThat(find("k", 3, ORIGIN)).isNull();
    }

    @Test
    void denialWithoutATimeIsNotKept() {
        learn("k", reply(3, false, 0, Algorithm.UNKNOWN), ORIGIN);

        assertThat(cache.size()).isZero();
    }

    @Test
    void forgettingWinsOverADenialUnderWay() {
        long generation = cache.generation("k");
        cache.forget("k");
        cache.learn("k", denial(3, ofSeconds(1)), generation, ORIGIN, ORIGIN);
        assertThat(find("k", 3, ORIGIN)).isNull();

        long another = cache.generation("k");
        cache.forgetAll();
        cache.learn("k", denial(3, ofSeconds(1)), another, ORIGIN, ORIGIN);
        assertThat(find("k", 3, ORIGIN)).isNull();
    }

    @Test
    void forgettingWinsWhateverTheInterleaving() {
        int batch = 1_000;
        CommandReply denied = denial(3, ofSeconds(1));
        long[] generations = new long[batch];
        try (Race race = new Race(batch, Seeds.of("forgettingWinsWhateverTheInterleaving"))) {
            for (int round = 0; round < 50; round++) {
                DenialCache raced = new DenialCache();
                for (int i = 0; i < batch; i++) {
                    generations[i] = raced.generation("k" + i);
                }
                race.run(i -> raced.learn("k" + i, denied, generations[i], ORIGIN, ORIGIN), i -> raced.forget("k" + i));
                for (int i = 0; i < batch; i++) {
                    assertThat(find(raced, "k" + i, POLICY, 3, ORIGIN)).isNull();
                }
            }
        }
    }

    @Test
    void floodOfKeysIsBoundedAndExpiredOnesMakeRoom() {
        for (int i = 0; i < 1_000; i++) {
            learn("k" + i, denial(3, ofMillis(500)), ORIGIN);
        }
        assertThat(cache.size()).isEqualTo(100);
        assertThat(find("k7", 3, ORIGIN)).as("those there keep their place").isNotNull();

        long later = ORIGIN + ofMillis(500).toNanos();
        for (int i = 0; i < 20; i++) {
            learn("later" + i, denial(3, ofMillis(500)), later);
        }
        assertThat(cache.size()).isLessThanOrEqualTo(100);
        assertThat(find("later19", 3, later)).isNotNull();
    }
}

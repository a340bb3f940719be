package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DenialCacheTest {

    private static final RateLimitPolicy POLICY = TokenBucket.perHour(10);
    private static final long ORIGIN = -5_000_000_000L;

    private final DenialCache cache = new DenialCache(100);

    private static Decision denial(long permits, Duration retryAfter) {
        Decision.Quota quota = new Decision.Quota(10, 2, ofSeconds(90).toNanos());
        return Decision.deny(POLICY, permits, quota, retryAfter.toNanos());
    }

    private void learn(String key, Decision decision, long now) {
        cache.learn(key, POLICY, decision, cache.generation(key), now, now);
    }

    private Decision find(String key, long permits, long now) {
        return cache.find(key, POLICY, permits, permits, now);
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
        cache.learn("k", POLICY, denial(3, ofMillis(100)), cache.generation("k"), ORIGIN, answered);

        assertThat(find("k", 3, ORIGIN + ofMillis(100).toNanos() - 1).retryAfter())
                .as("when the one who was denied comes back")
                .contains(ofMillis(30).plusNanos(1));
        assertThat(find("k", 3, ORIGIN + ofMillis(100).toNanos())).isNull();
    }

    @Test
    void cheaperAsksAndOtherPoliciesAreNotAnswered() {
        learn("k", denial(3, ofMillis(800)), ORIGIN);

        assertThat(find("k", 2, ORIGIN)).isNull();
        assertThat(cache.find("k", TokenBucket.perHour(11), 3, 3, ORIGIN)).isNull();
        assertThat(cache.find("k", TokenBucket.perHour(10), 3, 3, ORIGIN)).isNotNull();
    }

    @Test
    void whatIsAllowedEndsADearerDenial() {
        learn("k", denial(3, ofMillis(800)), ORIGIN);
        learn("k", Decision.wouldAllow(POLICY, 2, new Decision.Quota(10, 0, 1)), ORIGIN);

        assertThat(find("k", 3, ORIGIN)).isNull();
    }

    @Test
    void denialWithoutATimeIsNotKeptNorOneOfAConcurrencyLimit() {
        learn("k", denial(3, ofNanos(Decision.Quota.UNKNOWN)), ORIGIN);
        cache.learn("c", ConcurrencyLimit.of(3), denial(3, ofSeconds(1)), cache.generation("c"), ORIGIN, ORIGIN);

        assertThat(cache.size()).isZero();
    }

    @Test
    void forgettingWinsOverADenialUnderWay() {
        long generation = cache.generation("k");
        cache.forget("k");
        cache.learn("k", POLICY, denial(3, ofSeconds(1)), generation, ORIGIN, ORIGIN);
        assertThat(find("k", 3, ORIGIN)).isNull();

        long another = cache.generation("k");
        cache.forgetAll();
        cache.learn("k", POLICY, denial(3, ofSeconds(1)), another, ORIGIN, ORIGIN);
        assertThat(find("k", 3, ORIGIN)).isNull();
    }

    @Test
    void forgettingWinsWhateverTheInterleaving() {
        int batch = 1_000;
        Decision denied = denial(3, ofSeconds(1));
        long[] generations = new long[batch];
        try (Race race = new Race(batch, Seeds.of("forgettingWinsWhateverTheInterleaving"))) {
            for (int round = 0; round < 50; round++) {
                DenialCache raced = new DenialCache();
                for (int i = 0; i < batch; i++) {
                    generations[i] = raced.generation("k" + i);
                }
                race.run(
                        i -> raced.learn("k" + i, POLICY, denied, generations[i], ORIGIN, ORIGIN),
                        i -> raced.forget("k" + i));
                for (int i = 0; i < batch; i++) {
                    assertThat(raced.find("k" + i, POLICY, 3, 3, ORIGIN)).isNull();
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

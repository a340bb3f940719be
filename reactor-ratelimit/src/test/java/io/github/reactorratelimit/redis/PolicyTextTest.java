package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PolicyTextTest {

    @ParameterizedTest
    @EnumSource
    void whatIsReadIsWhatWasWritten(PolicyKind kind) {
        SplittableRandom random = new SplittableRandom(Seeds.of("policy text of " + kind));
        for (int i = 0; i < 500; i++) {
            RateLimitPolicy policy = kind.accepted(random, 0);
            assertThat(PolicyText.parse(PolicyText.format(policy))).isEqualTo(policy);
        }
    }

    @Test
    void whatRandomPoliciesDoNotHaveIsReadToo() {
        for (RateLimitPolicy policy : List.of(
                LeakyBucket.perSecond(7).withQueue(3).strictSpacing(),
                ConcurrencyLimit.of(9).withLease(Duration.ofNanos(1_234_567_890)),
                FixedWindow.daily(3, ZoneId.of("+01:30")),
                FixedWindow.monthly(3, ZoneId.of("UTC+2")),
                FixedWindow.daily(3, ZoneOffset.UTC))) {
            assertThat(PolicyText.parse(PolicyText.format(policy))).isEqualTo(policy);
        }
    }

    /** Processes of other versions read it. */
    @Test
    void formStaysAsItIs() {
        assertThat(PolicyText.format(TokenBucket.perHour(10).withBurst(20)))
                .isEqualTo("token-bucket 20 10 PT1H CONTINUOUS 20");
        assertThat(PolicyText.format(FixedWindow.daily(3, ZoneId.of("Europe/Berlin"))))
                .isEqualTo("fixed-window 3 PT24H DAY Europe/Berlin");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "bucket 1",
                "gcra",
                "gcra 1 PT1S",
                "gcra 1 PT1S 1 1",
                "gcra 1 PT1S 1 ",
                "gcra  1 PT1S 1",
                "gcra 01 PT1S 1",
                "gcra 1 PT60M 1",
                "gcra 0 PT1S 1",
                "gcra x PT1S 1",
                "gcra 1 soon 1",
                "gcra 99999999999999999999 PT1S 1",
                "gcra 1 PT1S 1 + ",
                "leaky-bucket 1 PT1S 1 perhaps",
                "fixed-window 1 PT24H DAY Nowhere/Atall",
                "fixed-window 1 PT24H WEEK UTC",
                "token-bucket 1 1 PT1S SUDDEN 1"
            })
    void garbageIsCorruptState(String text) {
        assertThatThrownBy(() -> PolicyVersions.parse(text))
                .isInstanceOf(RedisCorruptStateException.class)
                .hasMessageContaining("'" + text + "'");
    }
}

package io.github.reactorratelimit.local;

import static io.github.reactorratelimit.local.Tables.KEY;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.testing.Seeds;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The short ways to a decision decide and tell the same as the long one. */
class TakeOrDenyTest {

    private static final int MAX_KEYS = 100;
    private static final int REQUESTS = Tables.FULL ? 2_000 : 500;

    @ParameterizedTest
    @MethodSource("io.github.reactorratelimit.local.Tables#smallPolicies")
    void takesAndDeniesWhatADebitDoes(RateLimitPolicy policy) {
        Random random = new Random(Seeds.of("takesAndDeniesWhatADebitDoes"));
        KeyTable debited = Tables.of(policy, MAX_KEYS);
        KeyTable asked = Tables.of(policy, MAX_KEYS);
        KeyTable tried = Tables.of(policy, MAX_KEYS);
        long now = 0;
        for (int i = 0; i < REQUESTS; i++) {
            now += random.nextInt(12);
            // A clock reading may arrive late.
            long at = Math.max(0, now - random.nextInt(3));
            long permits = 1 + random.nextInt(3);
            Reading reading = debited.debit(KEY, at, permits);

            assertThat(tried.tryTake(KEY, at, permits)).isEqualTo(reading.allowed());
            Decision denial = asked.takeOrDeny(KEY, at, permits);
            if (reading.allowed()) {
                assertThat(denial).isNull();
            } else {
                assertThat(denial).usingRecursiveComparison().isEqualTo(KeyTable.denial(reading, permits));
            }
        }
    }
}

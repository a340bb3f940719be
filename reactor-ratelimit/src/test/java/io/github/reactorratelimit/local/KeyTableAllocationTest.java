package io.github.reactorratelimit.local;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.TokenBucket;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The allowed and the denied path of a key in the table allocate nothing where the state is a long. The
 * least of several measurements counts: the measuring bean itself allocates now and then.
 */
class KeyTableAllocationTest {

    private static final int CALLS = 200_000;
    private static final long STEP_NANOS = 1_500_000_000;

    static List<RateLimitPolicy> policies() {
        return List.of(
                Tables.gcra(10, 5),
                TokenBucket.of(7, Duration.ofSeconds(3)),
                FixedWindow.of(1_000, Duration.ofSeconds(1)));
    }

    @ParameterizedTest
    @MethodSource("policies")
    void knownKeyIsDebitedWithoutAllocation(RateLimitPolicy policy) {
        KeyTable table = Tables.of(policy, 10);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long permits = policy.capacity() / 2 + 1;
        long allowed = 0;
        long clock = 0;
        for (int i = 0; i < 5; i++, clock += CALLS * STEP_NANOS) {
            allowed = debit(table, clock, permits);
        }
        assertThat(allowed).isBetween(CALLS / 10L, CALLS - CALLS / 10L);
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++, clock += CALLS * STEP_NANOS) {
            long before = threads.getThreadAllocatedBytes(id);
            debit(table, clock, permits);
            least = Math.min(least, threads.getThreadAllocatedBytes(id) - before);
        }
        assertThat(least).as("bytes in %d calls", CALLS).isZero();
    }

    private static long debit(KeyTable table, long from, long permits) {
        long allowed = 0;
        for (int i = 0; i < CALLS; i++) {
            allowed += table.tryTake(Tables.KEY, from + i / 2 * STEP_NANOS, permits) ? 1 : 0;
        }
        return allowed;
    }
}

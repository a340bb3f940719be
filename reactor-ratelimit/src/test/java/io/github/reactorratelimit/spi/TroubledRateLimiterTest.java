package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.testing.Seeds;

/** The store keeps the contract on an engine that loses half of the races and answers late. */
class TroubledRateLimiterTest extends FullRateLimiterContract {

    private final CompareAndSwapEngine engine =
            new TroubledEngine(new MemoryEngine(), Seeds.of("troubled engine"), 50, 30, 0);

    @Override
    protected RateLimitStore store() {
        return CompareAndSwapStore.of(engine).withDeadline(PATIENCE);
    }

    /** The value of a key does not say when it was reset: such a refund gives permits back once more. */
    @Override
    protected boolean refusesRefundsFromBeforeAReset() {
        return false;
    }
}

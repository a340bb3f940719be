package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.FullRateLimiterContract;
import io.github.reactorratelimit.RateLimitStore;

/** The store on an engine of a third party keeps the contract of every store. */
class CompareAndSwapRateLimiterTest extends FullRateLimiterContract {

    private final MemoryEngine engine = new MemoryEngine();

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

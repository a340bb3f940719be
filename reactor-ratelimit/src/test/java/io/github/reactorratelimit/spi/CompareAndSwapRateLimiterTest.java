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
}

package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.SettlingContract;

/** The store on an engine of a third party settles as every store, also what two members spend together. */
class CompareAndSwapSettlingTest extends SettlingContract {

    private final MemoryEngine engine = new MemoryEngine();

    @Override
    protected RateLimitStore store() {
        return CompareAndSwapStore.of(engine).withDeadline(PATIENCE);
    }

    @Override
    protected int instances() {
        return 2;
    }
}

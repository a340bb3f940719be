package io.github.reactorratelimit.spi;

/** The engine of the tests keeps the contract of every engine. */
class MemoryEngineTest extends CompareAndSwapEngineContract {

    private final MemoryEngine engine = new MemoryEngine();

    @Override
    protected CompareAndSwapEngine engine() {
        return engine;
    }
}

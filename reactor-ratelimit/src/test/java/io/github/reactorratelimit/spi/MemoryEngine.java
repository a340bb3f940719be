package io.github.reactorratelimit.spi;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** An engine in this process: members of one engine share their values. Answers on the thread that asks. */
public final class MemoryEngine implements CompareAndSwapEngine {

    private final Map<String, Value> values = new ConcurrentHashMap<>();
    private final Clock clock;

    private record Value(byte[] bytes, Instant end) {}

    /** On the clock of this machine. */
    public MemoryEngine() {
        this(Clock.systemUTC());
    }

    /** With a clock of a test. */
    public MemoryEngine(Clock clock) {
        this.clock = clock;
    }

    /** The same values, as a member sees them whose clock is ahead by this much. */
    public CompareAndSwapEngine withClockAhead(Duration ahead) {
        return new DelegatingEngine(this) {
            @Override
            public Mono<Instant> now() {
                return MemoryEngine.this.now().map(time -> time.plus(ahead));
            }
        };
    }

    /** How many values there are, those that could be removed included. */
    public int size() {
        return values.size();
    }

    /** Puts bytes of any kind in the place of every value. */
    public void overwriteAll(byte[] bytes) {
        values.replaceAll((key, value) -> new Value(bytes, value.end));
    }

    @Override
    public Mono<byte[]> get(String key) {
        return Mono.fromSupplier(() -> bytes(values.get(key)));
    }

    private byte @Nullable [] bytes(@Nullable Value value) {
        return value == null || value.end.isBefore(clock.instant()) ? null : value.bytes;
    }

    @Override
    public Mono<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
        return Mono.fromSupplier(() -> {
            Value stored = new Value(next, clock.instant().plus(timeToLive));
            return stored
                    == values.compute(
                            key, (name, current) -> Arrays.equals(bytes(current), expected) ? stored : current);
        });
    }

    @Override
    public Mono<Boolean> compareAndRemove(String key, byte[] expected) {
        return Mono.fromSupplier(() -> {
            boolean[] removed = new boolean[1];
            values.computeIfPresent(key, (name, current) -> {
                removed[0] = Arrays.equals(bytes(current), expected);
                return removed[0] ? null : current;
            });
            return removed[0];
        });
    }

    @Override
    public Mono<Instant> now() {
        return Mono.fromSupplier(clock::instant);
    }
}

package io.github.reactorratelimit.spi;

import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** An engine that loses races, answers late, or fails with an unknown outcome: each with a probability in percent. */
final class TroubledEngine extends DelegatingEngine {

    private final SplittableRandom random;
    private final int lost;
    private final int late;
    private final int unknown;

    /** Calls that ended with an unknown outcome. */
    final AtomicInteger unknownOutcomes = new AtomicInteger();

    TroubledEngine(CompareAndSwapEngine engine, long seed, int lost, int late, int unknown) {
        super(engine);
        this.random = new SplittableRandom(seed);
        this.lost = lost;
        this.late = late;
        this.unknown = unknown;
    }

    private synchronized boolean happens(int percent) {
        return random.nextInt(100) < percent;
    }

    @Override
    public Mono<byte[]> get(String key) {
        return troubled(() -> super.get(key));
    }

    @Override
    public Mono<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
        return written(() -> super.compareAndSet(key, expected, next, timeToLive));
    }

    @Override
    public Mono<Boolean> compareAndRemove(String key, byte[] expected) {
        return written(() -> super.compareAndRemove(key, expected));
    }

    private Mono<Boolean> written(Supplier<Mono<Boolean>> write) {
        return troubled(() -> {
            if (happens(lost)) {
                return Mono.just(false);
            }
            if (happens(unknown)) {
                unknownOutcomes.incrementAndGet();
                Mono<Boolean> failed = Mono.error(new IllegalStateException("connection reset"));
                return happens(50) ? write.get().then(failed) : failed;
            }
            return write.get();
        });
    }

    private <T> Mono<T> troubled(Supplier<Mono<T>> call) {
        return Mono.defer(() -> {
            Mono<T> answer = call.get();
            if (!happens(late)) {
                return answer;
            }
            long micros;
            synchronized (this) {
                micros = random.nextLong(2_000);
            }
            return Mono.delay(Duration.of(micros, TimeUnit.MICROSECONDS.toChronoUnit()), Schedulers.parallel())
                    .then(answer);
        });
    }
}

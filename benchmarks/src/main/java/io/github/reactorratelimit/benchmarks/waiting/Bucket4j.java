package io.github.reactorratelimit.benchmarks.waiting;

import io.github.bucket4j.Bucket;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;

/** Bucket4j's scheduling bucket, whose future is made a Mono: it has no operator of its own. */
final class Bucket4j implements Waiting {

    private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
    private final Bucket[] buckets;

    private Bucket4j(Bucket[] buckets) {
        this.buckets = buckets;
    }

    static Waiting open(int keys, Duration interval) {
        return new Bucket4j(IntStream.range(0, keys)
                .mapToObj(key -> Bucket.builder()
                        .addLimit(limit -> limit.capacity(1).refillGreedy(1, interval))
                        .withNanosecondPrecision()
                        .build())
                .toArray(Bucket[]::new));
    }

    @Override
    public <T> Mono<T> guard(int key, Mono<T> call) {
        return Mono.fromFuture(() -> buckets[key].asScheduler().consume(1, executor))
                .then(call);
    }

    @Override
    public Duration untilNext(int key) {
        return Duration.ofNanos(buckets[key].estimateAbilityToConsume(1).getNanosToWaitForRefill());
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}

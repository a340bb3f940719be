package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.testing.Await;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * One of the processes at a leaky bucket: waiters, of which many leave before their turn, and now and then all at once.
 * Prints for each wait when it began and ended, by the server's clock, and the slot if it got one.
 */
final class LeakyChild {

    static final LeakyBucket POLICY = LeakyBucket.of(700, Duration.ofSeconds(3));

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int LANES = 8;
    private static final long LONGEST_MILLIS = 80;
    private static final long DESERTION_EVERY_MILLIS = 700;

    private final RateLimiter limiter;
    private final long offsetMicros;
    private final SplittableRandom random;
    private final Queue<String> waits = new ConcurrentLinkedQueue<>();
    private final Sinks.Many<Long> desertions = Sinks.many().multicast().directBestEffort();
    private volatile boolean running = true;

    private LeakyChild(RateLimiter limiter, long offsetMicros, long seed) {
        this.limiter = limiter;
        this.offsetMicros = offsetMicros;
        this.random = new SplittableRandom(seed ^ ProcessHandle.current().pid());
    }

    /** Arguments: address, run, processes, duration, seed. */
    public static void main(String[] arguments) throws Exception {
        try (Connected redis = Connected.to(RedisURI.create(arguments[0]))) {
            RateLimiter limiter = RateLimiter.builder(POLICY)
                    .name(arguments[1])
                    .store(redis.store().withDeadline(PATIENCE))
                    .build();
            limiter.acquire("warm-up").block(PATIENCE);
            redis.serverMicros();
            long before = nowMicros();
            long offsetMicros = redis.serverMicros() - (before + nowMicros()) / 2;
            redis.commands().incr(arguments[1]);
            redis.commands().expire(arguments[1], 60);
            Await.until(
                    "all processes ready",
                    () -> Integer.parseInt(redis.commands().get(arguments[1])) >= Integer.parseInt(arguments[2]));
            new LeakyChild(limiter, offsetMicros, Long.parseLong(arguments[4])).run(Duration.parse(arguments[3]));
        }
        System.exit(0);
    }

    private static long nowMicros() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    private void run(Duration duration) throws InterruptedException {
        List<Mono<Void>> lanes = new ArrayList<>();
        for (int i = 0; i < LANES; i++) {
            lanes.add(lane());
        }
        CountDownLatch done = new CountDownLatch(1);
        Flux.merge(Flux.fromIterable(lanes), LANES)
                .doOnError(Throwable::printStackTrace)
                .doFinally(end -> done.countDown())
                .subscribe();
        desert().subscribe();
        done.await(duration.toMillis(), TimeUnit.MILLISECONDS);
        long stopMicros = serverMicros();
        running = false;
        boolean ended = done.await(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        StringBuilder lines = new StringBuilder();
        waits.forEach(wait -> lines.append(wait).append('\n'));
        lines.append("stop ").append(stopMicros).append('\n');
        lines.append("hung ").append(ended ? 0 : 1).append('\n');
        System.out.print(lines);
        System.out.flush();
    }

    private long serverMicros() {
        return nowMicros() + offsetMicros;
    }

    private Flux<Long> desert() {
        return Mono.defer(
                        () -> Mono.delay(Duration.ofMillis(DESERTION_EVERY_MILLIS / 2 + below(DESERTION_EVERY_MILLIS))))
                .doOnNext(desertions::tryEmitNext)
                .repeat(() -> running);
    }

    private synchronized long below(long bound) {
        return random.nextLong(bound);
    }

    /** A third leaves at some time, and all do when everybody does: then they stay away for a moment. */
    private Mono<Void> lane() {
        return Mono.defer(() -> {
                    long began = serverMicros();
                    Mono<Boolean> patience = below(3) == 0
                            ? Mono.delay(Duration.ofMillis(below(LONGEST_MILLIS)))
                                    .thenReturn(false)
                            : Mono.never();
                    AtomicBoolean deserted = new AtomicBoolean();
                    Mono<Boolean> desertion =
                            desertions.asFlux().next().map(all -> true).doOnNext(deserted::set);
                    return limiter.acquire("k")
                            .takeUntilOther(Mono.firstWithSignal(patience, desertion))
                            .map(Decision::debit)
                            .doOnSuccess(debit -> ended(
                                    began,
                                    debit == null ? 0 : debit.orElseThrow().atTick()))
                            .then(Mono.fromSupplier(deserted::get));
                })
                .flatMap(this::stayAway)
                .repeat(() -> running)
                .then();
    }

    private Mono<Void> stayAway(boolean deserted) {
        if (deserted) {
            return Mono.delay(Duration.ofMillis(LONGEST_MILLIS + below(LONGEST_MILLIS)))
                    .then();
        }
        return below(10) == 0
                ? Mono.delay(Duration.ofMillis(below(LONGEST_MILLIS))).then()
                : Mono.empty();
    }

    private void ended(long began, long slot) {
        waits.add("wait " + began + " " + serverMicros() + " " + slot);
    }
}

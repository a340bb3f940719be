package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A limiter under load: lanes that ask, are answered, and ask again; and what was seen of it. */
final class Lanes {

    static final String KEY = "k";

    /** So many answers in a row that did not have to do without Redis: it is back for good. */
    private static final int NORMAL = 50;

    private static final int COUNT = 4;
    private static final Duration PAUSE = Duration.ofMillis(2);

    private final RateLimiter limiter;
    private final Function<RateLimiter, Mono<Decision>> ask;
    private final AtomicLong asked = new AtomicLong();
    private final AtomicLong answered = new AtomicLong();
    private final AtomicLong allowed = new AtomicLong();
    private final AtomicLong degraded = new AtomicLong();
    private final AtomicLong counted = new AtomicLong();
    private final AtomicInteger normalInARow = new AtomicInteger();
    private final Queue<Long> stamps = new ConcurrentLinkedQueue<>();
    private final Map<String, Long> errors = new ConcurrentHashMap<>();
    private volatile long lastDegradedNanos = System.nanoTime();
    private volatile boolean running;

    Lanes(String name, RateLimitPolicy policy, RedisStore store, Function<RateLimiter, Mono<Decision>> ask) {
        RateLimitRecorder recorder = new RateLimitRecorder() {
            @Override
            public void counted(Event event, long permits) {
                if (event.name().startsWith("DEGRADED")) {
                    counted.incrementAndGet();
                }
            }
        };
        this.limiter = RateLimiter.builder(policy)
                .name(name)
                .store(store)
                .recorder(recorder)
                .build();
        this.ask = ask;
    }

    void start() {
        running = true;
        Flux.range(0, COUNT).flatMap(lane -> lane(), COUNT).subscribe();
    }

    void stop() {
        running = false;
    }

    private Mono<Void> lane() {
        return Mono.defer(() -> {
                    asked.incrementAndGet();
                    return ask.apply(limiter);
                })
                .doOnNext(this::seen)
                .onErrorResume(error -> {
                    answered.incrementAndGet();
                    errors.merge(String.valueOf(error), 1L, Long::sum);
                    return Mono.empty();
                })
                .then(Mono.defer(() -> Mono.delay(PAUSE)))
                .repeat(() -> running)
                .then();
    }

    private void seen(Decision decision) {
        answered.incrementAndGet();
        if (decision.degraded()) {
            degraded.incrementAndGet();
            normalInARow.set(0);
            lastDegradedNanos = System.nanoTime();
        } else {
            normalInARow.incrementAndGet();
            if (decision.allowed()) {
                allowed.incrementAndGet();
                stamps.add(decision.debit().orElseThrow().atTick());
            }
        }
    }

    /** Forgets that it was normal before. */
    void awaitsNormal() {
        normalInARow.set(0);
    }

    boolean isNormal() {
        return normalInARow.get() >= NORMAL;
    }

    RateLimiter limiter() {
        return limiter;
    }

    long asked() {
        return asked.get();
    }

    /** Asks without an answer. */
    long open() {
        return asked.get() - answered.get();
    }

    /** Allowed by Redis. */
    long allowed() {
        return allowed.get();
    }

    /** Decisions that say they were made without Redis. */
    long degraded() {
        return degraded.get();
    }

    /** Decisions that the recorder was told of as made without Redis. */
    long countedAsDegraded() {
        return counted.get();
    }

    long lastDegradedNanos() {
        return lastDegradedNanos;
    }

    Map<String, Long> errors() {
        return errors;
    }

    long[] stamps() {
        return stamps.stream().mapToLong(Long::longValue).sorted().toArray();
    }
}

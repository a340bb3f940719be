package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.playground.Counts;
import io.github.reactorratelimit.examples.playground.EventLog;
import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.live.Frame.What;
import java.time.Duration;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** One limiter, and those who wait for it. Every request ends in the log exactly once: left, denied or cancelled. */
final class Lane {

    private static final String KEY = "playground";
    private static final int MAX_WAITERS = 1_000;

    private final int index;
    private final Kind kind;
    private final Scheduler scheduler;
    private final EventLog log;
    private final Counts counts = new Counts();
    private final RateLimiter limiter;
    private final ConcurrentSkipListMap<Long, Disposable> waiting = new ConcurrentSkipListMap<>();

    Lane(int index, Kind kind, Settings settings, Scheduler scheduler, EventLog log) {
        this.index = index;
        this.kind = kind;
        this.scheduler = scheduler;
        this.log = log;
        this.limiter = RateLimiter.builder(kind.policy(settings.limits()))
                .name(Fields.textOf(kind))
                .scheduler(scheduler)
                .maxWaiters(MAX_WAITERS)
                .recorder(counts)
                .build();
    }

    void arrive(long request, Settings settings) {
        AtomicBoolean ended = new AtomicBoolean();
        Disposable asking = ask(settings, () -> end(ended, request, What.LEFT))
                .doOnCancel(() -> end(ended, request, What.CANCELLED))
                .subscribe(denied -> {}, failure -> end(ended, request, What.DENIED));
        waiting.put(request, asking);
        if (ended.get()) {
            waiting.remove(request);
        }
    }

    /** Runs {@code leave} with the permit; signals an error if there is none. */
    private Flux<?> ask(Settings settings, Runnable leave) {
        Duration maxWait = settings.maxWaitInMode();
        if (kind == Kind.CONCURRENCY) {
            Publisher<?> work =
                    Mono.fromRunnable(leave).then(Mono.delay(settings.limits().work(), scheduler));
            return Flux.usingWhen(limiter.acquireLease(KEY, 1, maxWait), lease -> work, Lease::release);
        }
        return limiter.acquire(KEY, 1, maxWait)
                .doOnNext(decision -> {
                    if (!decision.allowed()) {
                        throw new RateLimitExceededException(decision);
                    }
                    leave.run();
                })
                .flux();
    }

    private void end(AtomicBoolean ended, long request, What what) {
        if (ended.compareAndSet(false, true)) {
            waiting.remove(request);
            log.add(index, what.code, request);
        }
    }

    /** Every second of those who wait gives up. */
    void cancelEveryOther() {
        boolean leaves = true;
        for (Disposable one : waiting.values()) {
            if (leaves) {
                one.dispose();
            }
            leaves = !leaves;
        }
    }

    Mono<Void> pause(Duration duration) {
        return limiter.pause(KEY, duration);
    }

    Mono<Void> change(Settings settings) {
        RateLimitPolicy policy = kind.policy(settings.limits());
        return policy.equals(limiter.policy()) ? Mono.empty() : limiter.changePolicy(policy);
    }

    Mono<Frame.Level> level() {
        return limiter.peek(KEY)
                .map(decision -> new Frame.Level(decision.remaining(), decision.limit(), counts.waiting()));
    }

    Frame.Totals totals() {
        return new Frame.Totals(Fields.textOf(kind), counts.allowed(), counts.denied(), counts.cancelled());
    }

    void close() {
        waiting.values().forEach(Disposable::dispose);
        limiter.dispose();
    }
}

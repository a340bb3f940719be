package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * The calls of one limiter to its engine, at most one in flight per key. Commands that arrive meanwhile travel together in the next call.
 * A lost race is repeated while any command of the call is within its deadline.
 */
final class KeyCalls {

    private static final Duration MAX_BACKOFF = Duration.ofMillis(20);

    private final LimiterSettings settings;
    private final CompareAndSwapEngine engine;
    private final Duration deadline;
    private final BiFunction<RateLimitPolicy, Long, Algorithm<?>> algorithms;
    private final String prefix;

    /** Keys with a call in flight. */
    private final Map<String, KeyCall> inFlight = new ConcurrentHashMap<>();

    KeyCalls(
            LimiterSettings settings,
            CompareAndSwapEngine engine,
            Duration deadline,
            BiFunction<RateLimitPolicy, Long, Algorithm<?>> algorithms) {
        this.settings = settings;
        this.engine = engine;
        this.deadline = deadline;
        this.algorithms = algorithms;
        this.prefix = settings.name().length() + ":" + settings.name() + ":";
    }

    /** The commands of one key: those of the call in flight, and those that wait for the next. */
    private static final class KeyCall {

        /** Only the call in flight touches these two. */
        private List<Command<?>> batch = new ArrayList<>();

        private int lostRaces;

        /** Guarded by the entry of {@link #inFlight}. */
        private List<Command<?>> waiting = new ArrayList<>();
    }

    Scheduler scheduler() {
        return settings.scheduler();
    }

    Duration deadline() {
        return deadline;
    }

    /** A command for each subscriber; an answer that finds none goes to {@code unused}. */
    <T> Mono<T> command(String key, Command.Step<T> step, Consumer<T> unused) {
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super T> actual) {
                actual.onSubscribe(new Command<>(KeyCalls.this, key, step, unused, actual));
            }
        };
    }

    /** Delivers on a thread that may run the subscriber's code: the engine's must not. */
    void deliver(Command<?> command) {
        try {
            settings.callbacks().schedule(command);
        } catch (RejectedExecutionException disposed) {
            command.run();
        }
    }

    void add(Command<?> command) {
        boolean[] starts = new boolean[1];
        KeyCall call = inFlight.compute(command.key, (key, current) -> {
            starts[0] = current == null;
            KeyCall joined = current == null ? new KeyCall() : current;
            joined.waiting.add(command);
            return joined;
        });
        if (starts[0]) {
            Mono.defer(() -> attempt(command.key, call))
                    .repeat(() -> hasMore(command.key))
                    .subscribe();
        }
    }

    private boolean hasMore(String key) {
        return inFlight.computeIfPresent(
                        key, (name, call) -> call.batch.isEmpty() && call.waiting.isEmpty() ? null : call)
                != null;
    }

    private Mono<Void> attempt(String key, KeyCall call) {
        inFlight.computeIfPresent(key, (name, current) -> {
            current.batch.addAll(current.waiting);
            current.waiting = new ArrayList<>();
            return current;
        });
        call.batch.removeIf(Command::isOver);
        if (call.batch.isEmpty()) {
            call.lostRaces = 0;
            return Mono.empty();
        }
        Mono<Void> called = Mono.defer(
                        () -> Mono.zip(read(key), engine.now(), (bytes, now) -> swap(key, call, bytes, now)))
                .flatMap(swapped -> swapped)
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the engine gave no answer")))
                .timeout(deadline, scheduler())
                .doOnNext(swapped -> settle(call, swapped))
                .onErrorResume(failure -> {
                    fail(call, failure);
                    return Mono.empty();
                })
                .then();
        return call.lostRaces < 2
                ? called
                : Mono.delay(backoff(call.lostRaces), scheduler()).then(called);
    }

    private Mono<Optional<byte[]>> read(String key) {
        return engine.get(prefix + key).map(Optional::of).defaultIfEmpty(Optional.empty());
    }

    private static Duration backoff(int lostRaces) {
        long most = Math.min(MAX_BACKOFF.toNanos(), Duration.ofMillis(lostRaces).toNanos());
        return Duration.ofNanos(ThreadLocalRandom.current().nextLong(most));
    }

    /** Applies the commands of the call to the value; false if another member was faster. */
    @SuppressWarnings("ReferenceEquality") // a step that changes nothing returns the value that it was given
    private Mono<Boolean> swap(String key, KeyCall call, Optional<byte[]> bytes, Instant instant) {
        long time = ChronoUnit.MICROS.between(Instant.EPOCH, instant);
        byte @Nullable [] stored = bytes.orElse(null);
        KeyValue<?> read = stored == null
                ? KeyValue.fresh(algorithms.apply(settings.policy(), time), time)
                : KeyValueCodec.decode(stored, policy -> algorithms.apply(policy, time));
        KeyValue<?> seen = read.at(time);
        KeyValue<?> next = seen;
        for (Command<?> command : call.batch) {
            next = command.apply(next);
        }
        // A clock that was set back is stored also by a denial: otherwise the key would recover from each request anew.
        boolean isChanged = next != seen || seen.now() < read.now();
        if (!isChanged || (stored == null && next.isForgettable())) {
            return Mono.just(true);
        }
        return stored != null && next.isForgettable()
                ? engine.compareAndRemove(prefix + key, stored)
                : engine.compareAndSet(prefix + key, stored, KeyValueCodec.encode(next), next.timeToLive(time));
    }

    private static void settle(KeyCall call, boolean swapped) {
        call.lostRaces = swapped ? 0 : call.lostRaces + 1;
        if (swapped) {
            List<Command<?>> done = call.batch;
            call.batch = new ArrayList<>();
            done.forEach(Command::succeed);
        }
    }

    /** The write may have happened: nothing is repeated, and the permits count as spent. */
    private void fail(KeyCall call, Throwable failure) {
        settings.recorder().counted(Event.STORE_FAILED, 0);
        StoreUnavailableException unavailable = failure instanceof StoreUnavailableException known
                ? known
                : new StoreUnavailableException("the engine failed, permits may be spent", failure);
        List<Command<?>> failed = call.batch;
        call.batch = new ArrayList<>();
        call.lostRaces = 0;
        failed.forEach(command -> command.fail(unavailable));
    }
}

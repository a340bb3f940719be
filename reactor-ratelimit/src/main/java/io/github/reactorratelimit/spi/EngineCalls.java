package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimitRecorder.Event;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.queue.CallingQueue;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.Waiter;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
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
final class EngineCalls extends KeyQueues<EngineCalls.Command<?>, EngineCalls.CommandsOfKey> {

    private static final long MAX_BACKOFF_NANOS = Duration.ofMillis(20).toNanos();

    private final CompareAndSwapEngine engine;
    private final RateLimitPolicy policy;
    private final Scheduler scheduler;
    private final RateLimitRecorder recorder;
    private final Duration deadline;
    private final BiFunction<RateLimitPolicy, Long, Algorithm<?>> algorithms;
    private final String prefix;

    EngineCalls(
            LimiterSettings settings,
            CompareAndSwapEngine engine,
            Duration deadline,
            BiFunction<RateLimitPolicy, Long, Algorithm<?>> algorithms) {
        // Commands are no waiters of the limiter: its recorder does not count them.
        super(new QueueRuntime(settings.name(), settings.scheduler(), settings.callbacks(), RateLimitRecorder.NOOP));
        this.engine = engine;
        this.policy = settings.policy();
        this.scheduler = settings.scheduler();
        this.recorder = settings.recorder();
        this.deadline = deadline;
        this.algorithms = algorithms;
        this.prefix = settings.name().length() + ":" + settings.name() + ":";
    }

    /** What is done to a key. Pure, because a lost race repeats it. */
    interface Step<T> {
        Result<T> apply(KeyValue<?> seen);
    }

    /**
     * What a step makes of a value.
     *
     * @param next the value to store; the one that was seen if nothing changes
     * @param answer for the subscriber
     * @param stored runs once {@code next} is stored
     */
    record Result<T>(KeyValue<?> next, T answer, Runnable stored) {
        Result(KeyValue<?> next, T answer) {
            this(next, answer, () -> {});
        }
    }

    /** A command for each subscriber; an answer that finds none goes to {@code unused}. */
    <T> Mono<T> command(String key, Step<T> step, Consumer<T> unused) {
        return Waiter.mono(actual -> new Command<>(this, actual, key, step, unused));
    }

    long now() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }

    /** One step on a key's value, for one subscriber. Its deadline counts from the moment it is requested. */
    static final class Command<T> extends Waiter<T> {

        private final EngineCalls calls;
        private final String key;
        private final Step<T> step;
        private final Consumer<T> unused;

        /** Written by the call in flight: the result of the step, or what it threw. */
        private @Nullable Result<T> result;

        private @Nullable RuntimeException failure;

        Command(EngineCalls calls, CoreSubscriber<? super T> actual, String key, Step<T> step, Consumer<T> unused) {
            super(calls.runtime, actual, 1, calls.deadline.toNanos());
            this.calls = calls;
            this.key = key;
            this.step = step;
            this.unused = unused;
        }

        @Override
        protected void join() {
            arriveAt(calls.now());
            calls.join(key, this, () -> new CommandsOfKey(calls, key));
        }

        @Override
        protected void leave() {
            calls.leave(key, this);
        }

        @Override
        protected void refund(T undelivered) {
            unused.accept(undelivered);
        }

        /** The value after this step; a step that throws fails alone and changes nothing. */
        private KeyValue<?> apply(KeyValue<?> seen) {
            result = null;
            try {
                Result<T> applied = step.apply(seen);
                result = applied;
                return applied.next();
            } catch (RuntimeException thrown) {
                failure = thrown;
                return seen;
            }
        }
    }

    /** The commands of one key, and the call in flight. */
    static final class CommandsOfKey extends CallingQueue<Command<?>> {

        private final EngineCalls calls;
        private final String key;

        /** The drain loop's, as is the field below: the commands of the call in flight. */
        private List<Command<?>> batch = List.of();

        private int lostRaces;

        CommandsOfKey(EngineCalls calls, String key) {
            super(calls.runtime);
            this.calls = calls;
            this.key = calls.prefix + key;
        }

        @Override
        public long now() {
            return calls.now();
        }

        @Override
        protected void admit(Command<?> newcomer, long now) {
            watch(newcomer);
        }

        @Override
        protected void deny(Command<?> late, long now, long grantedAt) {
            fail(late, noAnswer());
        }

        private StoreUnavailableException noAnswer() {
            return new StoreUnavailableException("no answer within " + calls.deadline, null);
        }

        private void fail(Command<?> command, Throwable failure) {
            answer(command, failure, WaitOutcome.DENIED);
        }

        @Override
        protected Mono<?> call() {
            List<Command<?>> commands = waiters.toList();
            batch = commands;
            return Mono.zip(read(), calls.engine.now(), (bytes, now) -> swap(commands, bytes.orElse(null), now))
                    .flatMap(swapped -> swapped)
                    .timeout(calls.deadline, Mono.error(this::noAnswer), calls.scheduler);
        }

        private Mono<Optional<byte[]>> read() {
            return calls.engine.get(key).map(Optional::of).defaultIfEmpty(Optional.empty());
        }

        /** Applies the commands of the call to the value; false if another member was faster. */
        @SuppressWarnings("ReferenceEquality") // a step that changes nothing returns the value that it was given
        private Mono<Boolean> swap(List<Command<?>> commands, byte @Nullable [] stored, Instant instant) {
            long time = ChronoUnit.MICROS.between(Instant.EPOCH, instant);
            KeyValue<?> read = stored == null
                    ? KeyValue.fresh(calls.algorithms.apply(calls.policy, time), time)
                    : KeyValue.decode(stored, policy -> calls.algorithms.apply(policy, time));
            KeyValue<?> seen = read.at(time);
            KeyValue<?> next = seen;
            for (Command<?> command : commands) {
                next = command.apply(next);
            }
            // A clock that was set back is stored also by a denial: otherwise the key would recover from each request.
            boolean isChanged = next != seen || seen.now() < read.now();
            if (!isChanged || (stored == null && next.isForgettable())) {
                return Mono.just(true);
            }
            return stored != null && next.isForgettable()
                    ? calls.engine.compareAndRemove(key, stored)
                    : calls.engine.compareAndSet(key, stored, next.encode(), next.timeToLive(time));
        }

        @Override
        protected void take(Object received, long now) {
            if (received.equals(false)) {
                lostRaces++;
                long backoff = Math.min(MAX_BACKOFF_NANOS, TimeUnit.MILLISECONDS.toNanos(lostRaces - 1L));
                notBefore =
                        backoff == 0 ? now : now + ThreadLocalRandom.current().nextLong(backoff);
                return;
            }
            lostRaces = 0;
            notBefore = now;
            if (received instanceof Throwable failure) {
                failBatch(failure);
            } else {
                batch.forEach(this::succeed);
            }
        }

        /** The write may have happened: nothing is repeated, and the permits count as spent. */
        private void failBatch(Throwable failure) {
            calls.recorder.counted(Event.STORE_FAILED, 0);
            Throwable unavailable = failure instanceof StoreUnavailableException
                    ? failure
                    : new StoreUnavailableException("the engine failed, permits may be spent", failure);
            batch.stream().filter(Waiter::isLinked).forEach(command -> fail(command, unavailable));
        }

        private <T> void succeed(Command<T> command) {
            Result<T> result = command.result;
            if (result != null) {
                result.stored().run();
                if (!command.isLinked() || !answer(command, result.answer(), WaitOutcome.GRANTED)) {
                    command.unused.accept(result.answer());
                }
            } else if (command.isLinked() && command.failure != null) {
                fail(command, command.failure);
            }
        }
    }
}

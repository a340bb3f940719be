package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.queue.CallingQueue;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueueRuntime;
import io.github.reactorratelimit.queue.QueuedRequest;
import io.github.reactorratelimit.queue.Waiter;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The calls of one limiter to its engine, at most one in flight per key. Commands that arrive meanwhile travel together in the next call.
 * A lost race is repeated while any command of the call is within its deadline.
 */
final class EngineCalls {

    private static final long MAX_BACKOFF_NANOS = Duration.ofMillis(20).toNanos();

    private final LimiterSettings settings;
    private final CompareAndSwapEngine engine;
    private final Duration deadline;
    private final Consumer<Debit> refund;
    private final KeyQueues<Command, CommandsOfKey> queues;

    /** By policy, made with the first time that the engine tells, which is when initial tokens begin to refill. */
    private final Map<RateLimitPolicy, Algorithm<?>> algorithms = new ConcurrentHashMap<>();

    /** @param refund gives back a debit whose decision found no subscriber */
    EngineCalls(LimiterSettings settings, CompareAndSwapEngine engine, Duration deadline, Consumer<Debit> refund) {
        this.settings = settings;
        this.engine = engine;
        this.deadline = deadline;
        this.refund = refund;
        make(settings.policy(), 0);
        // Commands are no waiters of the limiter: its recorder does not count them.
        LimiterSettings uncounted = new LimiterSettings(
                settings.name(),
                settings.policy(),
                settings.scheduler(),
                settings.callbacks(),
                RateLimitRecorder.NOOP,
                Integer.MAX_VALUE,
                true);
        this.queues = new KeyQueues<>(uncounted, CommandsOfKey::new);
    }

    /** The steps of a policy. */
    Algorithm<?> steps(RateLimitPolicy policy, long now) {
        return algorithms.computeIfAbsent(policy, kept -> make(kept, now));
    }

    /** A concurrency limit is a log of leases: each counts until it is released or a lease's length has passed. */
    private static Algorithm<?> make(RateLimitPolicy policy, long start) {
        RateLimitPolicy kept =
                policy instanceof ConcurrencyLimit limit ? SlidingWindowLog.of(limit.max(), limit.lease()) : policy;
        return Algorithms.of(kept, new Algorithms.Clock(Tick.MICROSECOND, 0, start));
    }

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /**
     * What a step makes of a value.
     *
     * @param next the value to store; the one that was seen if nothing changes
     * @param answer for the subscriber, once {@code next} is stored
     */
    record Result<T>(KeyValue<?> next, T answer) {}

    /**
     * A command for each subscriber; its deadline counts from the moment it is requested.
     *
     * @param step what is done to the key; pure, because a lost race repeats it
     */
    <T> Mono<T> command(String key, Function<KeyValue<?>, Result<T>> step) {
        String name = settings.name();
        return Mono.defer(
                () -> queues.await(new Command(name.length() + ":" + name + ":" + key, step), 1, deadline.toNanos()));
    }

    /** One step on a key's value, for one subscriber. */
    private final class Command implements QueuedRequest {

        private final String key;
        private final Function<KeyValue<?>, ? extends Result<?>> step;

        /** Written by the call in flight: what the step answered, or what it threw. */
        private Object outcome = "none";

        Command(String key, Function<KeyValue<?>, ? extends Result<?>> step) {
            this.key = key;
            this.step = step;
        }

        @Override
        public String key() {
            return key;
        }

        @Override
        public long now() {
            return EngineCalls.this.now();
        }

        @Override
        public void giveBack(Object undelivered) {
            if (undelivered instanceof Decision decision) {
                decision.debit().filter(Debit::claim).ifPresent(refund);
            }
        }

        /** The value after this step; a step that throws fails alone and changes nothing. */
        private KeyValue<?> apply(KeyValue<?> seen) {
            try {
                Result<?> result = step.apply(seen);
                outcome = result.answer();
                return result.next();
            } catch (RuntimeException thrown) {
                outcome = thrown;
                return seen;
            }
        }
    }

    /** The commands of one key, and the call in flight. */
    private final class CommandsOfKey extends CallingQueue<Command> {

        /** The drain loop's, as is the field below: the commands of the call in flight. */
        private List<Waiter<Command>> batch = List.of();

        private int lostRaces;

        CommandsOfKey(QueueRuntime runtime, Command first) {
            super(runtime, first);
        }

        @Override
        protected void admit(Waiter<Command> newcomer, long now) {
            watch(newcomer);
        }

        @Override
        protected void deny(Waiter<Command> late, long now, long grantedAt) {
            answer(late, noAnswer(), WaitOutcome.DENIED);
        }

        private StoreUnavailableException noAnswer() {
            return new StoreUnavailableException("no answer within " + deadline, null);
        }

        @Override
        protected Mono<?> call() {
            List<Waiter<Command>> commands = waiters();
            batch = commands;
            return Mono.zip(engine.get(key.key()).singleOptional(), engine.now())
                    .flatMap(read -> swap(commands, read.getT1().orElse(null), read.getT2()))
                    .timeout(deadline, Mono.error(this::noAnswer), settings.scheduler());
        }

        /** Applies the commands of the call to the value; false if another member was faster. */
        @SuppressWarnings("ReferenceEquality") // a step that changes nothing returns the value that it was given
        private Mono<Boolean> swap(List<Waiter<Command>> commands, byte @Nullable [] stored, Instant instant) {
            long time = ChronoUnit.MICROS.between(Instant.EPOCH, instant);
            KeyValue<?> read = stored == null
                    ? KeyValue.fresh(steps(settings.policy(), time), time)
                    : KeyValue.decode(stored, policy -> steps(policy, time));
            KeyValue<?> seen = read.at(time);
            KeyValue<?> next = seen;
            for (Waiter<Command> command : commands) {
                next = command.request().apply(next);
            }
            // A clock that was set back is stored also by a denial: otherwise the key would recover from each request.
            boolean isChanged = next != seen || seen.now() < read.now();
            if (!isChanged || (stored == null && next.isForgettable())) {
                return Mono.just(true);
            }
            return stored != null && next.isForgettable()
                    ? engine.compareAndRemove(key.key(), stored)
                    : engine.compareAndSet(key.key(), stored, next.encode(), next.timeToLive(time));
        }

        @Override
        protected void take(Object received, long now) {
            if (received.equals(false)) {
                long backoff = Math.min(MAX_BACKOFF_NANOS, TimeUnit.MILLISECONDS.toNanos(lostRaces++));
                notBefore =
                        now + (backoff == 0 ? 0 : ThreadLocalRandom.current().nextLong(backoff));
                return;
            }
            lostRaces = 0;
            notBefore = now;
            Object failure = received instanceof Throwable thrown ? failed(thrown) : null;
            for (Waiter<Command> command : batch) {
                Object outcome = failure == null ? command.request().outcome : failure;
                if (!command.isLinked() || !answer(command, outcome, WaitOutcome.GRANTED)) {
                    command.request().giveBack(outcome);
                }
            }
        }

        /** The write may have happened: nothing is repeated, and the permits count as spent. */
        private StoreUnavailableException failed(Throwable failure) {
            settings.recorder().counted(RateLimitRecorder.Event.STORE_FAILED, 0);
            return failure instanceof StoreUnavailableException known
                    ? known
                    : new StoreUnavailableException("the engine failed, permits may be spent", failure);
        }
    }
}

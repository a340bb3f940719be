package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.context.ContextView;

/**
 * Sends the commands of one limiter: through the circuit breaker of the key's node, into the queue of that
 * node, each with its own deadline.
 */
final class LimiterCommands {

    static final Duration PROBE_EVERY = Duration.ofMillis(500);

    private final CommandQueues queues;
    private final RedisKeys keys;
    private final LimiterSettings settings;
    private final Deadlines deadlines;
    private final ServerClock clock;
    private final ReplyExecutor callbacks;
    private final boolean onConnection;
    private final FailureLog log;
    private final ScriptPolicy versions;
    private final Map<CommandQueue, CircuitBreaker> breakers = new ConcurrentHashMap<>();
    private final AtomicInteger open = new AtomicInteger();
    private final Duration mostWait;
    private final Sinks.Empty<Void> idle = Sinks.empty();
    private volatile boolean closing;
    private volatile @Nullable Throwable lastFailure;

    LimiterCommands(
            CommandQueues queues, RedisKeys keys, LimiterSettings settings, StoreOptions options, FailureLog log) {
        this.queues = queues;
        this.keys = keys;
        this.settings = settings;
        this.deadlines = new Deadlines(settings.scheduler(), options.deadline(), queues::check);
        this.clock = new ServerClock(settings.scheduler(), settings.recorder());
        this.callbacks = new ReplyExecutor(settings.callbacks(), settings.scheduler());
        this.onConnection = options.onConnection();
        this.log = log;
        this.versions = ScriptPolicy.versions(settings.policy());
        // A request and the refund of what it debited in vain.
        this.mostWait = options.deadline().multipliedBy(2).plusSeconds(1);
    }

    RedisKeys keys() {
        return keys;
    }

    ServerClock clock() {
        return clock;
    }

    long now() {
        return settings.scheduler().now(TimeUnit.NANOSECONDS);
    }

    /**
     * Where a subscriber's code runs: the thread that its Context names, or the connection's if the user
     * chose so, which is null, or the scheduler for callbacks.
     */
    @Nullable
    Executor executorFor(ContextView context) {
        CallerThread caller = RateLimitContext.callerThread(context);
        return caller != null ? caller : onConnection ? null : callbacks;
    }

    /**
     * Sends a command. Never blocks, never throws; the command ends once, within the limiter's deadline from
     * now. It fails with
     *
     * <ul>
     *   <li>{@link RedisUnavailableException} if Redis does not answer in time, cannot be reached, says that
     *       it cannot answer now, or the breaker is open; {@link RedisUnavailableException#isUnanswered}
     *       tells whether the command may have run
     *   <li>{@link RedisErrorReplyException} if Redis replies an error that is no outage: nothing was written
     *   <li>{@link RedisCorruptStateException} if the key holds something else: nothing was written
     *   <li>{@link RedisReplyException} if the reply is none of our script: what it did is not known
     *   <li>{@link NewerVersionException} if the key is under a newer policy version: nothing was written
     * </ul>
     *
     * <p>Commands for one key run in the order in which they are sent. A cancelled one that was not sent yet
     * never is.
     */
    void send(PendingCommand command) {
        if (!begin(command)) {
            return;
        }
        CommandQueue queue = queues.of(command.name);
        boolean isAwaited = command.command.op() != Command.Op.FREE_SLOT;
        if ((!isAwaited && breaker(queue).answers(now())) || mayCall(queue)) {
            queue.offer(command);
        } else if (command.end(unavailableAMomentAgo())) {
            ReplyExecutor.deliver(command);
        }
    }

    /**
     * Sends a command for each subscriber. Signals on the thread that brings the reply. Cancelling does not
     * undo what ran.
     */
    Mono<CommandReply> send(String key, ScriptPolicy policy, Command command) {
        return send(key, policy, command, unused -> {});
    }

    /** @param unused receives a reply that comes after the deadline, or after the subscriber cancelled */
    Mono<CommandReply> send(String key, ScriptPolicy policy, Command command, Consumer<CommandReply> unused) {
        return Mono.create(sink -> {
            PendingCommand sent = new PendingCommand(this, key, policy, command, null) {

                @Override
                protected void succeeded(CommandReply reply) {
                    sink.success(reply);
                }

                @Override
                protected void failed(Throwable error) {
                    sink.error(error);
                }

                @Override
                protected void unused(CommandReply reply) {
                    unused.accept(reply);
                }

                @Override
                protected void late(CommandReply reply) {
                    unused.accept(reply);
                }
            };
            sink.onCancel(sent::cancel);
            send(sent);
        });
    }

    /** Sends a command about the limiter's policy versions. Signals on the thread that brings the reply. */
    Mono<CommandReply> sendToRegistry(Command command) {
        return send("", versions, command);
    }

    /** Whether the node of a key was unavailable a moment ago, so that commands fail at once. */
    boolean isUnavailable(String key) {
        CommandQueue queue = queues.of(keys.named(key));
        CircuitBreaker breaker = breakers.get(queue);
        return breaker != null && breaker.isOpen();
    }

    /** Whether the node of a key answers, in time or late. */
    boolean answers(String key) {
        return breaker(queues.of(keys.named(key))).answers(now());
    }

    /** Nanoseconds until the node of a key may be probed again. */
    long pauseLeft(String key) {
        return breaker(queues.of(keys.named(key))).pauseLeft(now());
    }

    /**
     * Completes when all commands have ended and their replies were delivered, with what {@linkplain
     * #settling follows} from them. Commands may still be sent. Waits a little longer than the deadline at
     * most, if a subscriber blocks.
     */
    Mono<Void> idle() {
        return Mono.defer(() -> {
            closing = true;
            if (open.get() == 0) {
                idle.tryEmitEmpty();
            }
            return idle.asMono().timeout(mostWait, Mono.empty(), settings.scheduler());
        });
    }

    /** Work that has to be done before this is {@linkplain #idle idle}, also between its commands. */
    <T> Mono<T> settling(Mono<T> work) {
        return Mono.defer(() -> {
            open.incrementAndGet();
            return work.doFinally(end -> ended());
        });
    }

    CommandQueues queues() {
        return queues;
    }

    boolean mayCall(CommandQueue queue) {
        CircuitBreaker breaker = breaker(queue);
        return !breaker.isOpen() || breaker.mayCall(now());
    }

    private CircuitBreaker breaker(CommandQueue queue) {
        CircuitBreaker known = breakers.get(queue);
        return known != null
                ? known
                : breakers.computeIfAbsent(queue, node -> new CircuitBreaker(node.node(), log, PROBE_EVERY.toNanos()));
    }

    /** The deadline counts from here. False if the command was cancelled before. */
    boolean begin(PendingCommand command) {
        if (!beginBeside(command)) {
            return false;
        }
        deadlines.begin(command);
        return true;
    }

    /** As {@link #begin}, for a command that ends with one that has a deadline. */
    boolean beginBeside(PendingCommand command) {
        open.incrementAndGet();
        boolean begins = command.begin();
        if (!begins) {
            ended();
        }
        return begins;
    }

    /**
     * A command that was {@linkplain #begin begun} is over: delivered, refunded, or cancelled before it was
     * in flight.
     */
    void ended() {
        if (open.decrementAndGet() == 0 && closing) {
            idle.tryEmitEmpty();
        }
    }

    /** Redis answered a call. */
    void answered(CommandQueue queue, long serverMicros) {
        clock.learn(serverMicros);
        breaker(queue).answered();
    }

    /** Redis answered a call after the deadlines of all its commands. */
    void answeredLate(CommandQueue queue) {
        breaker(queue).answeredLate(now());
    }

    /** A call failed, or one of its keys. */
    void failed(CommandQueue queue, Throwable error) {
        if (error instanceof RedisUnavailableException unavailable) {
            breaker(queue).failed(unavailable, now());
            return;
        }
        breaker(queue).answered();
        if (error instanceof RateLimitException replied
                && !(error instanceof NewerVersionException)
                && lastFailure != error) {
            lastFailure = error;
            ReplyExecutor.run(() -> log.failed(replied));
        }
    }

    static RedisUnavailableException unavailableAMomentAgo() {
        return new RedisUnavailableException("Redis was unavailable a moment ago");
    }
}

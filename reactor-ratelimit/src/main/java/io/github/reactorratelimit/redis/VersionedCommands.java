package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import java.time.Duration;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Sends commands under the policy in effect. A command that meets a key with a newer version follows that
 * version and is sent again, because nothing ran. All of that happens within one deadline. Replies come
 * on the connection's thread.
 */
final class VersionedCommands {

    private final LimiterCommands commands;
    private final PolicyVersions versions;
    private final Scheduler timer;
    private final Duration deadline;

    VersionedCommands(LimiterCommands commands, PolicyVersions versions, Scheduler timer, Duration deadline) {
        this.commands = commands;
        this.versions = versions;
        this.timer = timer;
        this.deadline = deadline;
    }

    LimiterCommands commands() {
        return commands;
    }

    PolicyVersions versions() {
        return versions;
    }

    long now() {
        return commands.now();
    }

    long deadlineNanos() {
        return deadline.toNanos();
    }

    /**
     * Sends a command for each subscriber. Cancelling does not undo what ran. Empty if a slot was to be
     * reserved, and the policy in effect has none: then nothing was sent.
     */
    Mono<CommandReply> send(String key, @Nullable RateLimitPolicy override, Command command) {
        return send(key, override, command, unused -> {});
    }

    /** @param unused receives a reply that comes after the deadline, or after the subscriber cancelled */
    Mono<CommandReply> send(
            String key, @Nullable RateLimitPolicy override, Command command, Consumer<CommandReply> unused) {
        return inEffect(() -> sendOnce(key, override, command, unused));
    }

    /**
     * The same for a request that began earlier: within its deadline, and under this version of the policy or a
     * newer one.
     */
    Mono<CommandReply> sendWithin(
            long startNanos, long version, String key, @Nullable RateLimitPolicy override, Command command) {
        return within(startNanos, versions.follow(version).then(send(key, override, command)));
    }

    private Mono<CommandReply> sendOnce(
            String key, @Nullable RateLimitPolicy override, Command command, Consumer<CommandReply> unused) {
        ScriptPolicy script = versions.script(override);
        check(script, command);
        boolean hasNoSlots = command.op() == Command.Op.RESERVE && !script.reserves();
        return hasNoSlots ? Mono.empty() : commands.send(key, script, command, unused);
    }

    /**
     * Whether a command under this policy may be sent directly: the policy is in effect for keys with this
     * override.
     */
    boolean isInEffect(ScriptPolicy policy, @Nullable RateLimitPolicy override) {
        if (!versions.isSettled() || versions.script(override) != policy) {
            return false;
        }
        versions.readIfDue();
        return true;
    }

    /**
     * Refunds a debit or frees a slot that was made under this policy. Empty if the policy was replaced: then
     * its permits are lost and its slots are void.
     */
    Mono<CommandReply> sendUnlessReplaced(RateLimitPolicy policy, String key, Command command) {
        return inEffect(() -> {
            ScriptPolicy script = versions.scriptOf(policy);
            return script == null ? Mono.empty() : commands.send(key, script, command);
        });
    }

    /** Counts usage of a key under one policy as usage under another. Null is the policy in effect. */
    Mono<CommandReply> carryOver(String key, @Nullable RateLimitPolicy from, @Nullable RateLimitPolicy to) {
        return inEffect(
                () -> commands.send(key, versions.script(to).after(versions.script(from)), Command.carryOver()));
    }

    /** The caller may have known another policy. */
    private static void check(ScriptPolicy script, Command command) {
        long capacity = script.policy().capacity();
        if (command.op().isBoundedByCapacity() && command.permits() > capacity) {
            throw new PermitsExceedCapacityException(command.permits(), capacity);
        }
    }

    private Mono<CommandReply> inEffect(Supplier<Mono<CommandReply>> call) {
        return Mono.defer(() -> {
            long startNanos = now();
            Mono<CommandReply> sent = Mono.defer(call);
            Mono<CommandReply> first;
            if (versions.isSettled()) {
                versions.readIfDue();
                first = sent;
            } else {
                first = within(startNanos, versions.settled().then(sent));
            }
            return first.onErrorResume(
                    NewerVersionException.class,
                    newer -> within(startNanos, versions.follow(newer.version()).then(inEffect(call))));
        });
    }

    /**
     * What takes several calls has one deadline for all. The last call may miss its own at the same moment:
     * whichever is second is ignored.
     */
    private Mono<CommandReply> within(long startNanos, Mono<CommandReply> calls) {
        return Mono.defer(() -> {
            Duration left = Duration.ofNanos(Math.max(0, deadline.toNanos() - (now() - startNanos)));
            Mono<CommandReply> overdue = Mono.delay(left, timer)
                    // Where nothing can be scheduled any more each call still has its own deadline.
                    .onErrorResume(RejectedExecutionException.class, disposed -> Mono.never())
                    .then(Mono.error(() -> RedisUnavailableException.unanswered(
                            "Redis did not tell the policy in effect and decide within " + deadline, null)));
            return Mono.firstWithSignal(calls, overdue);
        });
    }
}

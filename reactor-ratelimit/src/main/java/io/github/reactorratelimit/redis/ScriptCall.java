package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One EVALSHA: commands for one key or many. It ends when the reply comes, or when the deadlines of all its
 * commands have passed. Then what it debited stays debited; but slots that a late reply hands out are freed.
 */
final class ScriptCall {

    /** What a call may cost the server, in microseconds: other callers wait meanwhile. */
    static final int MAX_COST = 1_500;

    /** Fewer than a script can pass to one command. */
    static final int MAX_KEYS = 256;

    static final int MAX_COMMANDS = 1_024;
    private static final int MAX_POLICIES = 64;
    private static final byte[] SERVER_TIME = {};

    private static final int OPEN = 0;

    /** All deadlines have passed: the reply, if it comes, is late. */
    private static final int ABANDONED = 1;

    private static final int OVER = 2;

    private final CommandQueue queue;
    private final CommandQueue.SlotKeys slot;
    private final boolean together;
    private final List<KeyRun> runs = new ArrayList<>();
    private final List<ScriptPolicy> policies = new ArrayList<>(2);

    /** Commands whose deadline has not passed; until it is sent, below 0 by those whose deadline has. */
    private final AtomicInteger unexpired = new AtomicInteger();

    private final AtomicReference<@Nullable RedisUnavailableException> missed = new AtomicReference<>();

    /** Leaves {@link #OPEN} once; the thread that does that ends the commands. */
    private final AtomicInteger state = new AtomicInteger(OPEN);

    private int commands;
    private int cost;
    private volatile @Nullable Future<?> sent;
    private volatile @Nullable Reply reply;

    /** Says when it is complete. The future of an abandoned call does not: it is cancelled. */
    private final class Reply extends NestedMultiOutput<String, String> {

        private volatile boolean isComplete;

        Reply() {
            super(StringCodec.UTF8);
        }

        @Override
        public void complete(int depth) {
            super.complete(depth);
            if (depth == 0) {
                isComplete = true;
                endLate(this);
            }
        }
    }

    /** The commands for one key in a call, in order, under one policy. */
    static final class KeyRun {

        final CommandQueue.KeyCommands key;
        final ScriptPolicy policy;
        final int policyIndex;
        private final List<PendingCommand> commands = new ArrayList<>(1);
        private boolean isUniform = true;
        private boolean needsMoreKeys;

        KeyRun(CommandQueue.KeyCommands key, ScriptPolicy policy, int policyIndex) {
            this.key = key;
            this.policy = policy;
            this.policyIndex = policyIndex;
        }

        void add(PendingCommand command) {
            commands.add(command);
            isUniform = isUniform && command.command.equals(first().command);
            needsMoreKeys = needsMoreKeys || policy.needsMoreKeys(command.command);
        }

        List<PendingCommand> commands() {
            return commands;
        }

        PendingCommand first() {
            return commands.get(0);
        }

        /** Whether the script can decide it as plain acquires: all of as many permits. */
        boolean isPlain() {
            return isUniform && first().command.op() == Command.Op.ACQUIRE && policy.bucketRate() != null;
        }

        boolean needsMoreKeys() {
            return needsMoreKeys;
        }

        /** The commands as the script reads them; equal ones in a row are counted. */
        String entry() {
            StringBuilder entry = new StringBuilder(16).append(policyIndex).append(needsMoreKeys ? "+" : "");
            int end = commands.size();
            for (int from = 0, to = 0; from < end; from = to) {
                Command command = commands.get(from).command;
                while (to < end && command.equals(commands.get(to).command)) {
                    to++;
                }
                command.appendTo(entry, to - from);
            }
            return entry.toString();
        }

        void fail(CommandQueue queue, Throwable error, List<PendingCommand> ended) {
            first().limiter.failed(queue, error);
            for (PendingCommand command : commands) {
                if (command.end(error)) {
                    ended.add(command);
                }
            }
        }
    }

    /** @param together whether the commands are decided together */
    ScriptCall(CommandQueue queue, CommandQueue.SlotKeys slot, boolean together) {
        this.queue = queue;
        this.slot = slot;
        this.together = together;
    }

    /** Where its keys come from. */
    CommandQueue.SlotKeys slot() {
        return slot;
    }

    List<KeyRun> runs() {
        return runs;
    }

    boolean isTogether() {
        return together;
    }

    /** How many commands travel in it. */
    int size() {
        return commands;
    }

    boolean isFull() {
        return cost >= MAX_COST
                || commands >= MAX_COMMANDS
                || runs.size() >= MAX_KEYS
                || policies.size() >= MAX_POLICIES;
    }

    /** Takes commands of a key under one policy, as many as fit; how many left the queue of the key. */
    int add(CommandQueue.KeyCommands key) {
        int taken = 0;
        KeyRun run = null;
        for (PendingCommand next = key.waiting.peek(); next != null; next = key.waiting.peek()) {
            boolean isOther = run != null && next.policy != run.policy;
            if (isOther || next.group != null || (run != null && isFull())) {
                break;
            }
            key.waiting.remove();
            taken++;
            if (next.markSent(this)) {
                run = run == null ? addRun(key, next) : run;
                run.add(next);
                cost += run.isPlain() && run.commands().size() > 1 ? 0 : next.policy.cost(next.command);
                commands++;
            }
        }
        return taken;
    }

    /** Takes the first command of a key, a member of the group that this call is for. */
    void addMember(CommandQueue.KeyCommands key) {
        PendingCommand member = key.waiting.remove();
        member.markSent(this);
        addRun(key, member).add(member);
        commands++;
    }

    private KeyRun addRun(CommandQueue.KeyCommands key, PendingCommand first) {
        KeyRun run = new KeyRun(key, first.policy, policyIndex(first.policy));
        runs.add(run);
        return run;
    }

    private int policyIndex(ScriptPolicy policy) {
        int index = policies.indexOf(policy);
        if (index < 0) {
            policies.add(policy);
            return policies.size();
        }
        return index + 1;
    }

    void send() {
        if (unexpired.addAndGet(together ? 1 : commands) == 0) {
            abandon(missedDeadline());
        } else {
            send(CommandType.EVALSHA);
        }
    }

    private void send(CommandType type) {
        boolean withText = type == CommandType.EVAL;
        try {
            Reply output = new Reply();
            reply = output;
            RedisFuture<List<Object>> future = queue.connection().dispatch(type, output, arguments(withText));
            // Without a connection Lettuce refuses at once.
            boolean wasSent = !future.isDone();
            sent = future;
            if (state.get() != OPEN) {
                future.cancel(true);
            }
            future.whenComplete((values, error) -> came(withText, values, error, wasSent));
        } catch (Throwable notSent) {
            fail(ReplyErrors.classify(notSent, false));
        }
    }

    /** As the head of frame.lua lists them. */
    private CommandArgs<String, String> arguments(boolean withText) {
        RedisScript script = RedisScript.ofCommands();
        CommandArgs<String, String> arguments =
                new CommandArgs<>(StringCodec.UTF8).add(withText ? script.text() : script.sha1());
        addKeys(arguments);
        arguments.add(SERVER_TIME).add(policies.size() + (together ? "a" : ""));
        addPolicies(arguments);
        addEntries(arguments);
        return arguments;
    }

    private void addKeys(CommandArgs<String, String> arguments) {
        List<String> keys = new ArrayList<>(runs.size());
        for (KeyRun run : runs) {
            keys.add(run.key.name);
            if (run.needsMoreKeys()) {
                run.policy.addMoreKeys(run.key.name, keys);
            }
        }
        arguments.add(keys.size()).addKeys(keys);
    }

    /** Each by the clock of its limiter; they are numbered as the runs first name them. */
    private void addPolicies(CommandArgs<String, String> arguments) {
        int added = 0;
        for (KeyRun run : runs) {
            if (run.policyIndex > added) {
                arguments.add(run.policy.text(run.first().limiter.clock()));
                added++;
            }
        }
    }

    /** Once, if it is the same for all keys. */
    private void addEntries(CommandArgs<String, String> arguments) {
        List<String> entries = runs.stream().map(KeyRun::entry).toList();
        String first = entries.get(0);
        if (entries.stream().allMatch(first::equals)) {
            arguments.add(first);
        } else {
            entries.forEach(arguments::add);
        }
    }

    private void came(boolean withText, List<Object> values, @Nullable Throwable error, boolean wasSent) {
        if (error == null) {
            succeed(values);
            return;
        }
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (!withText && cause instanceof RedisNoScriptException && state.get() == OPEN) {
            // Nothing ran, and nothing else for its keys is in flight.
            send(CommandType.EVAL);
        } else {
            fail(ReplyErrors.classify(cause, wasSent));
        }
    }

    private void succeed(List<Object> values) {
        if (!state.compareAndSet(OPEN, OVER)) {
            return;
        }
        List<PendingCommand> ended = new ArrayList<>(commands);
        try {
            new CallReply(this, values).end(ended);
        } catch (Throwable broken) {
            // Mostly a reply that is none of ours. Whatever it is, the keys must not stay busy.
            endAll(broken, ended);
        }
        finish(ended);
    }

    private void fail(Throwable error) {
        if (state.compareAndSet(OPEN, OVER)) {
            List<PendingCommand> ended = new ArrayList<>(commands);
            endAll(error, ended);
            finish(ended);
        }
    }

    private void endAll(Throwable error, List<PendingCommand> ended) {
        for (KeyRun run : runs) {
            run.fail(queue, error, ended);
        }
    }

    /**
     * Code of ours and of subscribers that chose the connection's thread runs first: what it sends shares the
     * next call.
     */
    private void finish(List<PendingCommand> ended) {
        ReplyExecutor.deliverHere(ended, () -> queue.finished(this));
        ReplyExecutor.deliverElsewhere(ended);
    }

    CommandQueue queue() {
        return queue;
    }

    /** The deadline of a command has passed. */
    void expire(PendingCommand command) {
        RedisUnavailableException error = missedDeadline();
        boolean delivers = command.end(error);
        command.limiter.failed(queue, error);
        if (unexpired.decrementAndGet() == 0) {
            abandon(error);
        }
        if (delivers) {
            ReplyExecutor.deliver(command);
        }
    }

    /** The same for all its commands. */
    private RedisUnavailableException missedDeadline() {
        RedisUnavailableException known = missed.get();
        if (known != null) {
            return known;
        }
        RedisUnavailableException error =
                RedisUnavailableException.unanswered("no answer from Redis within the deadline", null);
        return missed.compareAndSet(null, error) ? error : missedDeadline();
    }

    /**
     * Frees the keys. A command that was not written yet is dropped, so that a reconnect does not send it
     * late. Of a group only the leader has a deadline: the others end here.
     */
    private void abandon(RedisUnavailableException error) {
        if (state.compareAndSet(OPEN, ABANDONED)) {
            Future<?> inFlight = sent;
            if (inFlight != null) {
                inFlight.cancel(true);
            }
            for (KeyRun run : runs) {
                for (PendingCommand command : run.commands()) {
                    if (command.end(error)) {
                        ReplyExecutor.deliver(command);
                    }
                }
            }
            queue.finished(this);
            Reply came = reply;
            if (came != null && came.isComplete) {
                endLate(came);
            }
        }
    }

    /** Lettuce reads the reply to a cancelled command that was written. */
    private void endLate(Reply came) {
        if (!together && !came.hasError() && state.compareAndSet(ABANDONED, OVER)) {
            ReplyExecutor.deliver(
                    null, () -> ReplyExecutor.deferringFlush(() -> new CallReply(this, came.get()).endLate()));
        }
    }
}

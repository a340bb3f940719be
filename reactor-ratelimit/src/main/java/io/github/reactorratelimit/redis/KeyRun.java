package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.CommandReply.KeyStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The commands for one key in a call, in order, under one policy. */
final class KeyRun {

    final KeyCommands key;
    final ScriptPolicy policy;
    final int policyIndex;
    private final PendingCommand first;
    private PendingCommand last;
    private int size = 1;
    private boolean isUniform = true;
    private boolean needsMoreKeys;

    /** Commands that go first in the next call of the key; each knows the next. */
    private @Nullable PendingCommand again;

    KeyRun(KeyCommands key, PendingCommand first, int policyIndex) {
        this.key = key;
        this.policy = first.policy;
        this.policyIndex = policyIndex;
        this.first = first;
        this.last = first;
        this.needsMoreKeys = policy.needsMoreKeys(first.command);
    }

    void add(PendingCommand command) {
        last.next = command;
        last = command;
        size++;
        if (!command.command.equals(first.command)) {
            isUniform = false;
            needsMoreKeys = needsMoreKeys || policy.needsMoreKeys(command.command);
        }
    }

    int size() {
        return size;
    }

    PendingCommand first() {
        return first;
    }

    /** Whether the script can decide it as plain acquires: all of as many permits. */
    boolean isPlain() {
        return isUniform && first.command.op() == Command.Op.ACQUIRE && policy.bucketRate() != null;
    }

    @Nullable
    PendingCommand again() {
        return again;
    }

    boolean needsMoreKeys() {
        return needsMoreKeys;
    }

    /** The commands as the script reads them; equal ones in a row are counted. */
    String entry() {
        StringBuilder entry = new StringBuilder(16).append(policyIndex).append(needsMoreKeys ? "+" : "");
        if (isUniform) {
            first.command.appendTo(entry, size);
            return entry.toString();
        }
        for (PendingCommand command = first; command != null; ) {
            int count = 1;
            PendingCommand following = command.next;
            while (following != null && following.command.equals(command.command)) {
                count++;
                following = following.next;
            }
            command.command.appendTo(entry, count);
            command = following;
        }
        return entry.toString();
    }

    /** Replies to plain acquires: the first ones are allowed. */
    void reply(KeyStatus status, long allowed, long owedParts, List<PendingCommand> ended) {
        BucketRate rate = policy.bucketRate();
        if (rate == null || allowed < 0 || allowed > size || owedParts < 0 || owedParts > rate.mostParts()) {
            throw new RedisReplyException("reply allows " + allowed + " of " + size + " acquires");
        }
        long costParts = rate.costParts(first.command.permits());
        long owed = owedParts - allowed * costParts;
        long place = 0;
        for (PendingCommand command = first; command != null; place++) {
            PendingCommand following = detach(command);
            boolean isAllowed = place < allowed;
            owed += isAllowed ? costParts : 0;
            end(command, rate.reply(command.command, policy, status, isAllowed, owed), ended);
            command = following;
        }
    }

    List<Command> commands() {
        List<Command> commands = new ArrayList<>(size);
        forEach(command -> commands.add(command.command));
        return commands;
    }

    /** Replies to all, in order. */
    void reply(List<CommandReply> replies, List<PendingCommand> ended) {
        int place = 0;
        for (PendingCommand command = first; command != null; place++) {
            PendingCommand following = detach(command);
            end(command, replies.get(place), ended);
            command = following;
        }
    }

    private static void end(PendingCommand command, CommandReply reply, List<PendingCommand> ended) {
        if (command.end(reply)) {
            ended.add(command);
        }
    }

    void fail(CommandQueue queue, Throwable error, List<PendingCommand> ended) {
        first.limiter.failed(queue, error);
        for (PendingCommand command = first; command != null; ) {
            PendingCommand following = detach(command);
            if (command.end(error)) {
                ended.add(command);
            }
            command = following;
        }
    }

    /**
     * Nothing ran, and it may run if it is sent once more: in front of all that came later. What was sent
     * again before fails.
     */
    void sendAgain(CommandQueue queue, Throwable error, List<PendingCommand> ended) {
        PendingCommand lastAgain = null;
        boolean isFailed = false;
        for (PendingCommand command = first; command != null; ) {
            PendingCommand following = detach(command);
            if (command.markUnsent()) {
                if (lastAgain == null) {
                    again = command;
                } else {
                    lastAgain.next = command;
                }
                lastAgain = command;
            } else if (command.end(error)) {
                isFailed = true;
                ended.add(command);
            }
            command = following;
        }
        if (isFailed) {
            first.limiter.failed(queue, error);
        }
    }

    /** The next call of the key begins with this one. */
    void precede(PendingCommand command) {
        command.next = again;
        again = command;
    }

    void forEach(Consumer<PendingCommand> action) {
        for (PendingCommand command = first; command != null; command = command.next) {
            action.accept(command);
        }
    }

    private static @Nullable PendingCommand detach(PendingCommand command) {
        PendingCommand following = command.next;
        command.next = null;
        return following;
    }
}

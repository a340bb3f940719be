package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.CommandReply.KeyStatus;
import java.util.ArrayList;
import java.util.List;

/** The commands for one key in a call, in order, under one policy. */
final class KeyRun {

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

    /** Replies to plain acquires: the first ones are allowed. */
    void reply(KeyStatus status, long allowed, long owedParts, List<PendingCommand> ended) {
        BucketRate rate = policy.bucketRate();
        int size = commands.size();
        if (rate == null || allowed < 0 || allowed > size || owedParts < 0 || owedParts > rate.mostParts()) {
            throw new RedisReplyException("reply allows " + allowed + " of " + size + " acquires");
        }
        long costParts = rate.costParts(first().command.permits());
        long owed = owedParts - allowed * costParts;
        for (int place = 0; place < size; place++) {
            PendingCommand command = commands.get(place);
            boolean isAllowed = place < allowed;
            owed += isAllowed ? costParts : 0;
            end(command, rate.reply(command.command, policy, status, isAllowed, owed), ended);
        }
    }

    /** Replies to all, in order. */
    void reply(List<CommandReply> replies, List<PendingCommand> ended) {
        for (int place = 0; place < commands.size(); place++) {
            end(commands.get(place), replies.get(place), ended);
        }
    }

    private static void end(PendingCommand command, CommandReply reply, List<PendingCommand> ended) {
        if (command.end(reply)) {
            ended.add(command);
        }
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

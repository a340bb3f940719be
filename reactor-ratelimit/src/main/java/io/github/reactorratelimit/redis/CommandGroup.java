package io.github.reactorratelimit.redis;

import java.util.List;

/**
 * Commands for several keys that the script decides together: all of them, or none. The group waits until it
 * is first in the queue of each of its keys. Its first command leads: the deadline, cancelling and delivery
 * are about that one.
 */
final class CommandGroup {

    private final List<? extends PendingCommand> commands;

    /** @param commands acquires, each for another key; all keys lie in one hash slot on a Cluster */
    CommandGroup(List<? extends PendingCommand> commands) {
        this.commands = commands;
    }

    List<? extends PendingCommand> commands() {
        return commands;
    }

    PendingCommand leader() {
        return commands.get(0);
    }

    /** Whether it need not be sent any more. */
    boolean isEnded() {
        return leader().isEnded();
    }
}

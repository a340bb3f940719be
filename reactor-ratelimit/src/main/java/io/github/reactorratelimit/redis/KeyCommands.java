package io.github.reactorratelimit.redis;

import org.jspecify.annotations.Nullable;

/**
 * The commands that wait for one key, in order. Owned by the thread that handles the mailbox of the queue.
 */
final class KeyCommands {

    final String name;

    /** Whether a call for the key is in flight, or the key stands among those that wait for the next call. */
    boolean isBusy;

    /** The group that is first here and not everywhere; null if there is none. */
    @Nullable
    CommandGroup awaits;

    private @Nullable PendingCommand first;
    private @Nullable PendingCommand last;

    KeyCommands(String name) {
        this.name = name;
    }

    @Nullable
    PendingCommand first() {
        return first;
    }

    boolean isEmpty() {
        return first == null;
    }

    void add(PendingCommand command) {
        if (last == null) {
            first = command;
        } else {
            last.next = command;
        }
        last = command;
    }

    /** Adds a chain of commands in front; how many they are. */
    int addFirst(@Nullable PendingCommand chain) {
        int added = 0;
        PendingCommand end = null;
        for (PendingCommand command = chain; command != null; command = command.next) {
            end = command;
            added++;
        }
        if (end != null) {
            end.next = first;
            last = last == null ? end : last;
            first = chain;
        }
        return added;
    }

    /** Takes the first command out. */
    void removeFirst() {
        PendingCommand removed = first;
        if (removed != null) {
            first = removed.next;
            removed.next = null;
            last = first == null ? null : last;
        }
    }

    /** Drops commands that need not be sent any more until one is first that has to; how many they were. */
    int dropEnded() {
        int dropped = 0;
        while (first != null && (first.isEnded() || (first.group != null && first.group.isEnded()))) {
            removeFirst();
            dropped++;
        }
        return dropped;
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.queue.DrainLoop;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.util.concurrent.Queues;

/**
 * The commands of one node that wait, by key, and the calls in flight. At most one call per key is in flight,
 * so commands for a key run in the order in which they are offered, on whatever thread. If few calls are in
 * flight, a command leaves at once; otherwise the commands of all idle keys gather, and the next call takes
 * as many as the server can decide in a short time.
 *
 * <p>On a Cluster the keys of a call lie in one hash slot. A group of commands that are decided together
 * leaves alone, when it is first in the queue of each of its keys; because it enters all of them in one step,
 * no two groups wait for each other.
 *
 * <p>One thread at a time handles the mailbox and owns everything else in here.
 */
final class CommandQueue extends DrainLoop {

    /**
     * On a standalone server: enough to keep it busy while replies travel and are delivered. On a Cluster:
     * for each hash slot 1.
     */
    static final int MAX_CALLS = 4;

    /** On a Cluster, where many slots may have a call in flight. */
    static final int MAX_COMMANDS_IN_FLIGHT = 1_024;

    /** While more commands wait the server is far behind: the fallback decides. */
    static final int MAX_WAITING = 1 << 17;

    /** How long a command is deferred at most. */
    static final long FLUSH_MILLIS = 1;

    private final String node;
    private final Connection connection;
    private final boolean bySlot;
    private final int maxCallsOfSlot;
    private final int maxCommands;
    private final Queue<Object> mailbox =
            Queues.<Object>unboundedMultiproducer().get();
    private final Map<String, KeyCommands> keys = new HashMap<>();
    private final Map<Integer, SlotKeys> slots = new HashMap<>();
    private final ArrayDeque<SlotKeys> ready = new ArrayDeque<>();
    private final Scheduler timer = Schedulers.parallel();
    private final AtomicBoolean isFlushScheduled = new AtomicBoolean();
    private int commandsInFlight;
    private int count;

    /** The count, for others. */
    private volatile int waiting;

    /** Where calls are sent. */
    interface Connection {

        /**
         * Sends a call.
         *
         * @throws RedisUnavailableException if there is no connection yet: nothing was sent
         */
        RedisFuture<List<Object>> dispatch(
                CommandType type,
                CommandOutput<String, String, List<Object>> output,
                CommandArgs<String, String> arguments);
    }

    /** The keys of one hash slot; on a standalone server all keys. */
    static final class SlotKeys {
        private final int slot;
        private final ArrayDeque<KeyCommands> idle = new ArrayDeque<>();
        private boolean isReady;
        private int callsInFlight;

        SlotKeys(int slot) {
            this.slot = slot;
        }
    }

    /** The commands that wait for one key, in order. */
    static final class KeyCommands {
        final String name;
        final ArrayDeque<PendingCommand> waiting = new ArrayDeque<>(1);

        /** Whether a call for the key is in flight, or the key stands among those that wait for the next call. */
        private boolean isBusy;

        /** The group that is first here and not everywhere; null if there is none. */
        private @Nullable CommandGroup awaits;

        KeyCommands(String name) {
            this.name = name;
        }
    }

    /**
     * @param node the node's name for the log
     * @param connection where calls are sent
     * @param bySlot whether the keys of a call must lie in one hash slot
     */
    CommandQueue(String node, Connection connection, boolean bySlot) {
        this.node = node;
        this.connection = connection;
        this.bySlot = bySlot;
        this.maxCallsOfSlot = bySlot ? 1 : MAX_CALLS;
        this.maxCommands = bySlot ? MAX_COMMANDS_IN_FLIGHT : Integer.MAX_VALUE;
    }

    String node() {
        return node;
    }

    /** Where its calls are sent. */
    Connection connection() {
        return connection;
    }

    /** Takes a command that has begun. */
    void offer(PendingCommand command) {
        mailbox.offer(command);
        if (!ReplyExecutor.defersFlush(this)) {
            signal();
        } else if (!isFlushScheduled.get() && isFlushScheduled.compareAndSet(false, true)) {
            scheduleFlush();
        }
    }

    /** The delivery that defers the command may take long. */
    private void scheduleFlush() {
        try {
            timer.schedule(this::flush, FLUSH_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException noTimer) {
            isFlushScheduled.set(false);
        }
    }

    private void flush() {
        isFlushScheduled.set(false);
        signal();
    }

    /** Takes commands that have begun, to be decided together; or hears that such a group ended before it was sent. */
    void offer(CommandGroup group) {
        mailbox.offer(group);
        signal();
    }

    /** A call is over: its keys are idle. */
    void finished(ScriptCall call) {
        mailbox.offer(call);
        if (!ReplyExecutor.defersFlush(this)) {
            signal();
        }
    }

    /** Commands that wait. */
    int size() {
        return waiting;
    }

    @Override
    protected void drain() {
        handleMailbox();
        sendCalls();
        waiting = count;
    }

    private void handleMailbox() {
        for (Object next = mailbox.poll(); next != null; next = mailbox.poll()) {
            if (next instanceof PendingCommand command) {
                add(command);
            } else if (next instanceof CommandGroup group && group.isEnded()) {
                group.commands().forEach(this::leave);
            } else if (next instanceof CommandGroup group) {
                group.commands().forEach(this::add);
            } else if (next instanceof ScriptCall call) {
                release(call);
            }
        }
    }

    private void sendCalls() {
        while (commandsInFlight < maxCommands) {
            SlotKeys slot = ready.poll();
            if (slot == null) {
                return;
            }
            slot.isReady = false;
            ScriptCall call = gather(slot);
            if (call != null) {
                slot.callsInFlight++;
                commandsInFlight += call.size();
                call.send();
            }
            makeReady(slot);
        }
    }

    /**
     * Lets the slot send a call if it has commands and not too many calls in flight; forgets it if it has
     * neither.
     */
    private void makeReady(SlotKeys slot) {
        if (slot.idle.isEmpty() && slot.callsInFlight == 0) {
            slots.remove(slot.slot);
        } else if (!slot.isReady && !slot.idle.isEmpty() && slot.callsInFlight < maxCallsOfSlot) {
            slot.isReady = true;
            ready.add(slot);
        }
    }

    private void add(PendingCommand command) {
        if (count >= MAX_WAITING && command.group == null) {
            if (command.end(new RedisUnavailableException("too many commands wait for Redis"))) {
                ReplyExecutor.deliver(command);
            }
            return;
        }
        count++;
        KeyCommands key = keys.get(command.name);
        if (key == null) {
            key = new KeyCommands(command.name);
            keys.put(command.name, key);
        }
        key.waiting.add(command);
        if (!key.isBusy) {
            makeReady(key);
        }
    }

    /** The key need not wait for the group of this command any more. */
    private void leave(PendingCommand member) {
        KeyCommands key = keys.get(member.name);
        if (key != null && key.awaits == member.group) {
            key.awaits = null;
            if (!key.isBusy) {
                makeReady(key);
            }
        }
    }

    private void makeReady(KeyCommands key) {
        key.isBusy = true;
        SlotKeys slot = slots.computeIfAbsent(bySlot ? SlotHash.getSlot(key.name) : 0, SlotKeys::new);
        slot.idle.add(key);
        makeReady(slot);
    }

    private void release(ScriptCall call) {
        commandsInFlight -= call.size();
        call.slot().callsInFlight--;
        for (ScriptCall.KeyRun run : call.runs()) {
            release(run.key);
        }
        makeReady(call.slot());
    }

    private void release(KeyCommands key) {
        key.isBusy = false;
        if (key.waiting.isEmpty()) {
            keys.remove(key.name);
        } else {
            makeReady(key);
        }
    }

    /** A call with the commands of idle keys; null if all of them were cancelled or expired. */
    private @Nullable ScriptCall gather(SlotKeys slot) {
        ScriptCall call = null;
        for (KeyCommands key = slot.idle.poll(); key != null; key = slot.idle.poll()) {
            PendingCommand first = firstToSend(key);
            if (first == null) {
                keys.remove(key.name);
            } else if (first.group != null) {
                if (call != null) {
                    slot.idle.addFirst(key);
                    return call;
                }
                ScriptCall together = gather(first.group, key, slot);
                if (together != null) {
                    return together;
                }
            } else {
                call = call == null ? new ScriptCall(this, slot, false) : call;
                int before = call.runs().size();
                count -= call.add(key);
                if (call.runs().size() == before) {
                    // All that were left are cancelled.
                    slot.idle.addFirst(key);
                } else if (call.isFull()) {
                    break;
                }
            }
        }
        return call == null || call.size() == 0 ? null : call;
    }

    /** The first command that has to be sent; drops those before it. Null if there is none. */
    private @Nullable PendingCommand firstToSend(KeyCommands key) {
        PendingCommand first = key.waiting.peek();
        while (first != null && (first.isEnded() || (first.group != null && first.group.isEnded()))) {
            key.waiting.remove();
            count--;
            first = key.waiting.peek();
        }
        return first;
    }

    /**
     * A call for the group; null if it is not first everywhere: then the key waits for the last of the
     * others.
     */
    private @Nullable ScriptCall gather(CommandGroup group, KeyCommands own, SlotKeys slot) {
        own.isBusy = false;
        own.awaits = group;
        for (PendingCommand member : group.commands()) {
            KeyCommands key = keys.get(member.name);
            if (key == null || key.awaits != group) {
                return null;
            }
        }
        ScriptCall call = new ScriptCall(this, slot, true);
        boolean isSent = group.leader().markSent(call);
        for (PendingCommand member : group.commands()) {
            KeyCommands key = keys.get(member.name);
            if (key != null) {
                key.awaits = null;
                if (key.isBusy) {
                    // A later command has put it in line for the next call.
                    slot.idle.remove(key);
                }
                if (isSent) {
                    key.isBusy = true;
                    call.addMember(key);
                    count--;
                } else {
                    makeReady(key);
                }
            }
        }
        return isSent ? call : null;
    }
}

package io.github.reactorratelimit.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;

/**
 * Commands for several keys that the script decides together: all of them, or none. The group waits until it
 * is first in the queue of each of its keys. Its first command leads: the deadline, cancelling and delivery
 * are about that one, and it ends last.
 */
final class CommandGroup {

    /** One of the commands. */
    record Member(LimiterCommands limiter, String key, ScriptPolicy policy, Command command) {}

    /** What a member ends with if one before it is denied. */
    static final class NotDecidedException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        NotDecidedException() {
            super("a command before it was denied", null, false, false);
        }
    }

    private final MonoSink<List<CommandReply>> sink;
    private final List<Part> commands;

    /** Where it waits, also if its hash slot moves to another node meanwhile. */
    private final CommandQueue queue;

    /** Of the commands that were decided. */
    private final Deque<CommandReply> replies = new ArrayDeque<>();

    private CommandGroup(List<Member> members, MonoSink<List<CommandReply>> sink) {
        this.sink = sink;
        this.commands = members.stream().map(Part::new).toList();
        this.queue = leader().limiter.queues().of(leader().name);
    }

    /**
     * Sends acquires for several keys, perhaps of several limiters, which are decided together: all are
     * debited or none. Brings the replies in order, up to the first denial. Empty if they cannot travel
     * together: other connections, other hash slots, one key twice, a policy with a predecessor, an open
     * breaker. Signals on the thread that brings the reply; cancelling does not undo what ran.
     */
    static Mono<List<CommandReply>> send(List<Member> members) {
        return Mono.create(sink -> {
            CommandGroup group = new CommandGroup(members, sink);
            if (group.mayTravelTogether()) {
                group.send();
            } else {
                sink.success();
            }
        });
    }

    private boolean mayTravelTogether() {
        CommandQueues queues = leader().limiter.queues();
        return commands.size() <= ScriptCall.MAX_KEYS
                && commands.stream().allMatch(part -> part.mayTravelIn(queues))
                && commands.stream().map(part -> part.name).distinct().count() == commands.size()
                && (!queues.isCluster()
                        || commands.stream()
                                        .map(part -> SlotHash.getSlot(part.name))
                                        .distinct()
                                        .count()
                                == 1);
    }

    private void send() {
        sink.onCancel(leader()::cancel);
        if (leader().limiter.begin(leader())) {
            commands.stream().skip(1).forEach(part -> part.limiter.beginBeside(part));
            queue.offer(this);
        }
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

    private final class Part extends PendingCommand {

        Part(Member member) {
            super(member.limiter(), member.key(), member.policy(), member.command(), null);
            group = CommandGroup.this;
        }

        private boolean mayTravelIn(CommandQueues queues) {
            return limiter.queues() == queues
                    && policy.before() == null
                    && !policy.hasLeases()
                    && !limiter.isUnavailable(key);
        }

        private boolean leads() {
            return this == leader();
        }

        @Override
        protected void droppedFromQueue() {
            if (leads()) {
                commands.stream().skip(1).forEach(PendingCommand::cancel);
                queue.offer(CommandGroup.this);
            }
        }

        @Override
        protected void succeeded(CommandReply reply) {
            replies.addFirst(reply);
            if (leads()) {
                sink.success(List.copyOf(replies));
            }
        }

        /** Nothing behind it was decided. */
        @Override
        protected void failed(Throwable error) {
            if (leads()) {
                sink.error(error);
            } else {
                replies.clear();
            }
        }
    }
}

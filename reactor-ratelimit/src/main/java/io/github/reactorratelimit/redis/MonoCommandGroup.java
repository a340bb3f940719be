package io.github.reactorratelimit.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Sends a group of acquires when a subscriber requests; see {@link LimiterCommands#sendTogether}. */
final class MonoCommandGroup extends Mono<List<CommandReply>> {

    private final List<LimiterCommands.Member> members;

    MonoCommandGroup(List<LimiterCommands.Member> members) {
        this.members = members;
    }

    /** What a member ends with if one before it is denied. */
    static final class NotDecidedException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        NotDecidedException() {
            super("a command before it was denied", null, false, false);
        }
    }

    @Override
    public void subscribe(CoreSubscriber<? super List<CommandReply>> actual) {
        if (!mayTravelTogether()) {
            Operators.complete(actual);
            return;
        }
        List<Passenger> commands = new ArrayList<>(members.size());
        Leader leader = new Leader(members.get(0), commands, actual);
        commands.add(leader);
        members.stream().skip(1).map(Passenger::new).forEach(commands::add);
        CommandGroup group = new CommandGroup(commands);
        commands.forEach(command -> command.group = group);
        actual.onSubscribe(leader);
    }

    private boolean mayTravelTogether() {
        CommandQueues queues = members.get(0).limiter().queues();
        Set<String> names = new HashSet<>();
        Set<Integer> slots = new HashSet<>();
        for (LimiterCommands.Member member : members) {
            String name = member.limiter().keys().named(member.key(), member.policy());
            boolean isAlone = member.limiter().queues() != queues
                    || member.policy().before() != null
                    || member.policy().hasLeases()
                    || !names.add(name);
            slots.add(queues.isCluster() ? SlotHash.getSlot(name) : 0);
            if (isAlone || slots.size() > 1 || members.size() > ScriptCall.MAX_KEYS) {
                return false;
            }
            if (member.limiter().isUnavailable(member.key())) {
                return false;
            }
        }
        return true;
    }

    /** A command of the group; what became of it the leader tells. */
    private static class Passenger extends PendingCommand {

        private @Nullable CommandReply reply;

        Passenger(LimiterCommands.Member member) {
            super(member.limiter(), member.key(), member.policy(), member.command(), null);
        }

        @Override
        protected void succeeded(CommandReply reply) {
            this.reply = reply;
        }

        @Override
        protected void failed(Throwable error) {}
    }

    private static final class Leader extends Passenger implements Subscription {

        private final List<Passenger> commands;
        private final CoreSubscriber<? super List<CommandReply>> actual;

        Leader(
                LimiterCommands.Member member,
                List<Passenger> commands,
                CoreSubscriber<? super List<CommandReply>> actual) {
            super(member);
            this.commands = commands;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && limiter.begin(this)) {
                commands.stream().skip(1).forEach(command -> command.limiter.beginBeside(command));
                limiter.queues().of(name).offer(group());
            }
        }

        private CommandGroup group() {
            CommandGroup known = group;
            return known == null ? new CommandGroup(commands) : known;
        }

        @Override
        protected void droppedFromQueue() {
            commands.stream().skip(1).forEach(PendingCommand::cancel);
            limiter.queues().of(name).offer(group());
        }

        @Override
        protected void succeeded(CommandReply reply) {
            super.succeeded(reply);
            List<CommandReply> replies = new ArrayList<>();
            for (Passenger command : commands) {
                if (command.reply == null) {
                    break;
                }
                replies.add(command.reply);
            }
            actual.onNext(List.copyOf(replies));
            actual.onComplete();
        }

        @Override
        protected void failed(Throwable error) {
            actual.onError(error);
        }
    }
}

package io.github.reactorratelimit.redis;

/** A command about leases as the model of leases reads it: a lease is {@code id permits ticks}. */
record LeaseAsk(Op op, String argument) {

    enum Op {
        TAKE,
        TAKE_FOR_WAITER,
        LOOK,
        GIVE_BACK,
        RENEW,
        RESET
    }

    /** What the script shall reply. */
    record Answer(boolean done, long remaining) {

        static Answer of(CommandReply reply) {
            return new Answer(reply.allowed(), reply.remaining());
        }
    }

    static LeaseAsk look(long permits) {
        return new LeaseAsk(Op.LOOK, Long.toString(permits));
    }

    static LeaseAsk reset() {
        return new LeaseAsk(Op.RESET, "");
    }

    Command command() {
        if (op == Op.LOOK) {
            return Command.peek(Long.parseLong(argument));
        }
        if (op == Op.RESET) {
            return Command.reset();
        }
        String[] words = argument.split(" ");
        long permits = Long.parseLong(words[1]);
        long ticks = Long.parseLong(words[2]);
        return switch (op) {
            case GIVE_BACK -> Command.releaseLease(words[0], permits, ticks);
            case RENEW -> Command.renewLease(words[0], permits, ticks);
            default -> Command.takeLease(words[0], permits, ticks, op == Op.TAKE_FOR_WAITER);
        };
    }
}

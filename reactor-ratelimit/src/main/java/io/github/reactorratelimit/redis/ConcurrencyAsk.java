package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.List;

/**
 * One of the asks of a call about leases, as the head of concurrency.lua gives them.
 *
 * @param op what to do
 * @param argument the lease, or how many permits to look for
 */
record ConcurrencyAsk(Op op, String argument) {

    /** What to do. */
    enum Op {
        /** Takes a lease if its permits are there. */
        TAKE("t"),
        /** As {@link #TAKE}; if denied, whoever gives back later shall say so. */
        TAKE_FOR_WAITER("w"),
        /** Answers as a take without taking. */
        LOOK("l"),
        /** Ends a lease. */
        GIVE_BACK("b"),
        /** Lets a lease last from now on. */
        RENEW("r"),
        /** Ends all leases. */
        RESET("x");

        private final String argument;

        Op(String argument) {
            this.argument = argument;
        }
    }

    private static final String SERVER_TIME = "";

    static ConcurrencyAsk of(Op op, HeldLease lease) {
        return new ConcurrencyAsk(op, lease.member());
    }

    static ConcurrencyAsk look(long permits) {
        return new ConcurrencyAsk(Op.LOOK, Long.toString(permits));
    }

    static ConcurrencyAsk reset() {
        return new ConcurrencyAsk(Op.RESET, "");
    }

    /** What a call says about the key. */
    record Subject(long max, String channel, String message) {}

    /** The arguments of a call at the server's time. */
    static String[] arguments(Subject subject, List<ConcurrencyAsk> asks) {
        return encode(SERVER_TIME, subject, asks);
    }

    /** The arguments of a call at a given time, for tests. */
    static String[] argumentsAt(long nowMicros, Subject subject, List<ConcurrencyAsk> asks) {
        Exact.check("nowMicros", nowMicros);
        return encode(Long.toString(nowMicros), subject, asks);
    }

    private static String[] encode(String now, Subject subject, List<ConcurrencyAsk> asks) {
        if (asks.isEmpty() || asks.size() > ScriptArguments.MAX_ASKS) {
            throw new IllegalArgumentException(
                    "asks must be 1 to " + ScriptArguments.MAX_ASKS + ", was " + asks.size());
        }
        List<String> arguments = new ArrayList<>();
        arguments.add(now);
        arguments.add(Long.toString(subject.max()));
        arguments.add(subject.channel());
        arguments.add(subject.message());
        for (ConcurrencyAsk ask : asks) {
            arguments.add(ask.op().argument);
            arguments.add(ask.argument());
        }
        return arguments.toArray(String[]::new);
    }
}

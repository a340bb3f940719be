package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.List;

/** The arguments (ARGV) of a call, in the order that the head of evaluate.lua gives. */
final class ScriptArguments {

    /** The most asks a call may carry. */
    static final int MAX_ASKS = 256;

    private static final String SERVER_TIME = "";
    private static final String NO_EPOCH = "";

    private ScriptArguments() {}

    /**
     * At the server's time.
     *
     * @param aboutMicros about that time: the client's clock, or what the server said it was
     */
    static String[] of(Ruling ruling, List<Ask> asks, long aboutMicros) {
        List<String> arguments = new ArrayList<>();
        arguments.add(SERVER_TIME);
        arguments.add(ruling.epochs());
        ruling.policy().appendTo(arguments, aboutMicros);
        PolicyArguments before = ruling.before();
        if (before == null) {
            arguments.add("0");
        } else {
            before.appendTo(arguments, aboutMicros);
        }
        return withAsks(arguments, ruling.policy(), asks);
    }

    /** As a store does, but at a given time, for tests. */
    static String[] at(long nowMicros, Ruling ruling, List<Ask> asks) {
        String[] arguments = of(ruling, asks, nowMicros);
        arguments[0] = Long.toString(nowMicros);
        return arguments;
    }

    /** At a given time and without notes of the key, for tests. */
    static String[] at(long nowMicros, PolicyArguments policy, List<Ask> asks) {
        Exact.check("nowMicros", nowMicros);
        return bare(Long.toString(nowMicros), policy, asks, nowMicros);
    }

    /** At the server's time and without notes of the key, for tests. */
    static String[] bare(PolicyArguments policy, List<Ask> asks, long aboutMicros) {
        return bare(SERVER_TIME, policy, asks, aboutMicros);
    }

    private static String[] bare(String now, PolicyArguments policy, List<Ask> asks, long aboutMicros) {
        List<String> arguments = new ArrayList<>();
        arguments.add(now);
        arguments.add(NO_EPOCH);
        policy.appendTo(arguments, aboutMicros);
        arguments.add("0");
        return withAsks(arguments, policy, asks);
    }

    private static String[] withAsks(List<String> arguments, PolicyArguments policy, List<Ask> asks) {
        if (asks.isEmpty() || asks.size() > MAX_ASKS) {
            throw new IllegalArgumentException("asks must be 1 to " + MAX_ASKS + ", was " + asks.size());
        }
        long capacity = policy.policy().capacity();
        for (Ask ask : asks) {
            append(arguments, ask, capacity);
        }
        return arguments.toArray(String[]::new);
    }

    private static void append(List<String> arguments, Ask ask, long capacity) {
        if (ask.permits() > capacity && ask.op().isBoundedByCapacity()) {
            throw new IllegalArgumentException("permits of a " + ask.op() + " must be at most the capacity " + capacity
                    + ", was " + ask.permits());
        }
        arguments.add(ask.op().argument());
        arguments.add(Long.toString(ask.permits()));
        arguments.add(ask.at());
    }
}

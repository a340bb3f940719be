package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.Ask.Op;
import java.util.ArrayList;
import java.util.List;

/** The arguments (ARGV) of a call, in the order that the head of evaluate.lua gives. */
final class ScriptArguments {

    /** The most asks a call may carry. */
    static final int MAX_ASKS = 256;

    private static final String SERVER_TIME = "";

    private ScriptArguments() {}

    /**
     * At the server's time.
     *
     * @param aboutMicros about that time: the client's clock, or what the server said it was
     */
    static String[] of(PolicyArguments policy, List<Ask> asks, long aboutMicros) {
        return encode(SERVER_TIME, policy, asks, aboutMicros);
    }

    /** At a given time, for tests. */
    static String[] at(long nowMicros, PolicyArguments policy, List<Ask> asks) {
        Exact.check("nowMicros", nowMicros);
        return encode(Long.toString(nowMicros), policy, asks, nowMicros);
    }

    private static String[] encode(String now, PolicyArguments policy, List<Ask> asks, long aboutMicros) {
        if (asks.isEmpty() || asks.size() > MAX_ASKS) {
            throw new IllegalArgumentException("asks must be 1 to " + MAX_ASKS + ", was " + asks.size());
        }
        List<String> arguments = new ArrayList<>();
        arguments.add(now);
        policy.appendTo(arguments, aboutMicros);
        long capacity = policy.policy().capacity();
        for (Ask ask : asks) {
            append(arguments, ask, capacity);
        }
        return arguments.toArray(String[]::new);
    }

    private static void append(List<String> arguments, Ask ask, long capacity) {
        if (ask.permits() > capacity && ask.op() != Op.CHARGE) {
            throw new IllegalArgumentException("permits of a " + ask.op() + " must be at most the capacity " + capacity
                    + ", was " + ask.permits());
        }
        arguments.add(ask.op().argument());
        arguments.add(Long.toString(ask.permits()));
        arguments.add(Long.toString(ask.atMicros()));
    }
}

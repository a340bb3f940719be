package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A policy as the scripts take it: which script, how many keys, which parameters. Made once for a policy
 * and used for all its calls; safe for any thread.
 */
final class PolicyArguments {

    /** A request of a log takes the server about 20 µs, and other callers wait meanwhile. */
    private static final int MAX_ASKS_OF_A_LOG = 64;

    private final RateLimitPolicy policy;
    private final List<PartArguments> parts;
    private final List<String> partNames;
    private final RedisScript script;

    private PolicyArguments(RateLimitPolicy policy, List<PartArguments> parts) {
        this.policy = policy;
        this.parts = parts;
        this.partNames = names(parts);
        this.script =
                RedisScript.of(parts.stream().map(PartArguments::algorithm).toList());
    }

    /**
     * @param startMicros since when initial tokens refill: about the server's time when the limiter started
     * @throws IllegalArgumentException if Redis cannot hold the policy exactly
     */
    static PolicyArguments of(RateLimitPolicy policy, long startMicros) {
        Exact.check("startMicros", startMicros);
        Clock clock = new Clock(Tick.MICROSECOND, 0, startMicros);
        return new PolicyArguments(
                policy,
                policy.parts().stream()
                        .map(part -> PartArguments.of(part, clock))
                        .toList());
    }

    RateLimitPolicy policy() {
        return policy;
    }

    RedisScript script() {
        return script;
    }

    /** How many requests may share a call. */
    int maxAsks() {
        return algorithms().anyMatch(ScriptAlgorithm.SLIDING_LOG::equals)
                ? MAX_ASKS_OF_A_LOG
                : ScriptArguments.MAX_ASKS;
    }

    Stream<ScriptAlgorithm> algorithms() {
        return parts.stream().map(PartArguments::algorithm);
    }

    /** One that knows the algorithms of both. */
    RedisScript scriptWith(PolicyArguments other) {
        return RedisScript.of(Stream.concat(parts.stream(), other.parts.stream())
                .map(PartArguments::algorithm)
                .toList());
    }

    /** Whether those who wait reserve the time at which they leave. */
    boolean reserves() {
        return parts.size() == 1 && parts.get(0).algorithm().isMetered();
    }

    /**
     * What tells the keys of the parts apart, one key for each part, in their order. A name says the form
     * of the state, so that a policy changed to another algorithm starts afresh instead of failing.
     */
    List<String> partNames() {
        return partNames;
    }

    /** The part with an index as a reply names it. */
    RateLimitPolicy part(int index) {
        return parts.get(index).policy();
    }

    /**
     * Adds the number of parts and the parts.
     *
     * @param aboutMicros about the server's time, for the windows of a calendar
     */
    void appendTo(List<String> arguments, long aboutMicros) {
        arguments.add(Integer.toString(parts.size()));
        for (PartArguments part : parts) {
            List<String> parameters = part.parametersAt(aboutMicros);
            arguments.add(part.algorithm().argument());
            arguments.add(Integer.toString(parameters.size()));
            arguments.addAll(parameters);
        }
    }

    private static List<String> names(List<PartArguments> parts) {
        Map<String, Integer> seen = new HashMap<>();
        List<String> names = new ArrayList<>();
        for (PartArguments part : parts) {
            String name = part.algorithm().partName();
            int count = seen.merge(name, 1, Integer::sum);
            names.add(count == 1 ? name : name + count);
        }
        return List.copyOf(names);
    }
}

package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which policy rules, as a call tells it.
 *
 * @param epoch of two callers the one with the higher epoch rules
 * @param policy the policy
 * @param before the one that ruled before, whose debts are kept; null if it is not known or there was none
 * @param epochBefore that of {@code before}, {@link #UNKNOWN} if nobody knows
 */
record Ruling(long epoch, PolicyArguments policy, @Nullable PolicyArguments before, long epochBefore) {

    static final long UNKNOWN = -1;

    static final String NOTES = "n";
    private static final String FREE_SLOTS = "r";

    static Ruling of(PolicyArguments policy) {
        return new Ruling(0, policy, null);
    }

    Ruling(long epoch, PolicyArguments policy, @Nullable PolicyArguments before) {
        this(epoch, policy, before, UNKNOWN);
    }

    String epochs() {
        return before == null || epochBefore == UNKNOWN ? Long.toString(epoch) : epoch + " " + epochBefore;
    }

    /** The names of the keys of a call, in the order that the head of evaluate.lua gives. */
    List<String> keyNames() {
        List<String> names = new ArrayList<>();
        names.add(NOTES);
        if (script().reserves()) {
            names.add(FREE_SLOTS);
        }
        names.addAll(policy.partNames());
        if (before != null) {
            names.addAll(before.partNames());
        }
        return List.copyOf(names);
    }

    /** As {@link #keyNames}, for a script that knows of slots although the policy has none. */
    List<String> keyNamesWithSlots() {
        List<String> names = new ArrayList<>(keyNames());
        if (!script().reserves()) {
            names.add(1, FREE_SLOTS);
        }
        return List.copyOf(names);
    }

    /** Both policies' algorithms. */
    RedisScript script() {
        return before == null ? policy.script() : policy.scriptWith(before);
    }
}

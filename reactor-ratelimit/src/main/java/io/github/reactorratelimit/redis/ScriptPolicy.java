package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A policy as the script reads it. Made once for a policy and a limiter, and used for all its commands; safe
 * for any thread. Two are never equal: commands that name the same one share its text in a call.
 */
final class ScriptPolicy {

    /** As {@link #versionBefore}: not known. */
    static final long UNKNOWN = -1;

    /** Of a log that is searched and trimmed. */
    private static final int ENTRIES_PER_MICRO = 100;

    private static final String FREE_SLOTS = ":free";
    private static final String LOG = ":log";

    private final RateLimitPolicy policy;
    private final List<ScriptPart> parts;
    private final long version;
    private final @Nullable ScriptPolicy before;
    private final long versionBefore;
    private final boolean reserves;
    private final boolean isMeteredAlone;
    private final int logs;
    private final int logCost;
    private final String head;
    private volatile @Nullable String fixedText;

    private ScriptPolicy(
            RateLimitPolicy policy,
            List<ScriptPart> parts,
            long version,
            @Nullable ScriptPolicy before,
            long versionBefore) {
        this.policy = policy;
        this.parts = parts;
        this.version = version;
        this.before = before;
        this.versionBefore = versionBefore;
        this.isMeteredAlone = parts.size() == 1 && parts.get(0).isMetered();
        this.reserves = isMeteredAlone && Algorithms.traits(policy).catchesUp();
        int own = (int) parts.stream().filter(ScriptPart::isLog).count();
        this.logs = before == null ? own : Math.max(own, before.logs);
        this.logCost = parts.stream()
                .filter(ScriptPart::isLog)
                .mapToInt(part -> (int) (part.policy().capacity() / ENTRIES_PER_MICRO))
                .sum();
        this.head = version + "," + (versionBefore == UNKNOWN ? "-" : versionBefore) + "," + moreKeys() + " ";
    }

    /** @throws IllegalArgumentException if Redis cannot hold the policy exactly */
    static ScriptPolicy of(RateLimitPolicy policy) {
        List<ScriptPart> parts = policy.parts().stream().map(ScriptPart::of).toList();
        return new ScriptPolicy(policy, parts, 0, null, UNKNOWN);
    }

    /** For commands about the limiter's policy versions. */
    static ScriptPolicy versions(RateLimitPolicy policy) {
        return new ScriptPolicy(policy, List.of(ScriptPart.versions(policy)), 0, null, UNKNOWN);
    }

    /** Whether it is for commands about policy versions. */
    boolean isAboutVersions() {
        return parts.get(0).isAboutVersions();
    }

    /** Whether it is a concurrency limit. */
    boolean hasLeases() {
        return parts.get(0).hasLeases();
    }

    /** The same policy under a version; a key with a lower version is carried over from {@code before}. */
    ScriptPolicy withVersion(long version, @Nullable ScriptPolicy before, long versionBefore) {
        Tick.MICROSECOND.check("version", version);
        return new ScriptPolicy(policy, parts, version, before, versionBefore);
    }

    /** The same policy, for {@link Command#carryOver} from another. */
    ScriptPolicy after(ScriptPolicy before) {
        return new ScriptPolicy(policy, parts, version, before, versionBefore);
    }

    RateLimitPolicy policy() {
        return policy;
    }

    /** The part with an index as a reply names it. */
    RateLimitPolicy part(int index) {
        return parts.get(index).policy();
    }

    int partCount() {
        return parts.size();
    }

    /** The names of the algorithms in Lua, one for each part. */
    List<String> algorithms() {
        return parts.stream().map(ScriptPart::algorithm).toList();
    }

    long version() {
        return version;
    }

    @Nullable
    ScriptPolicy before() {
        return before;
    }

    /** Whether waiters reserve the slot at which they leave. */
    boolean reserves() {
        return reserves;
    }

    /** The rate by which replies to plain acquires are worked out; null if the script replies to each. */
    @Nullable
    BucketRate bucketRate() {
        return before == null && version == 0 && isMeteredAlone ? parts.get(0).bucketRate() : null;
    }

    /** What one command of this policy costs the server, in microseconds. */
    int cost(Command command) {
        if (logs > 0) {
            return command.op() == Command.Op.REFUND ? 160 : 24 * parts.size() + logCost;
        }
        return hasLeases() || before != null || needsMoreKeys(command) ? 24 : 4 + 3 * parts.size();
    }

    /** Whether a key needs more than its value for this command. */
    boolean needsMoreKeys(Command command) {
        return logs > 0 || (moreKeys() > 0 && !isAboutStateAlone(command.op()));
    }

    private static boolean isAboutStateAlone(Command.Op op) {
        return op == Command.Op.ACQUIRE || op == Command.Op.ACQUIRE_UP_TO;
    }

    /** Adds the names of the keys that hold more: freed slots, logs. */
    void addMoreKeys(String name, List<String> keys) {
        if (hasFreedSlots()) {
            keys.add(name + FREE_SLOTS);
        }
        for (int i = 1; i <= logs; i++) {
            keys.add(name + LOG + (i == 1 ? "" : Integer.toString(i)));
        }
    }

    private boolean hasFreedSlots() {
        return isMeteredAlone || (before != null && before.isMeteredAlone);
    }

    private int moreKeys() {
        return logs + (hasFreedSlots() ? 1 : 0);
    }

    /** The text that goes into a call. */
    String text(ServerClock clock) {
        String known = fixedText;
        if (known != null) {
            return known;
        }
        String text = head + partsText(clock) + (before == null ? "" : "|" + before.partsText(clock));
        if (isFixed(clock) && (before == null || before.isFixed(clock))) {
            fixedText = text;
        }
        return text;
    }

    private String partsText(ServerClock clock) {
        return parts.stream().map(part -> part.text(clock)).collect(Collectors.joining(";"));
    }

    private boolean isFixed(ServerClock clock) {
        return parts.stream().allMatch(part -> part.isFixed(clock));
    }

    @Override
    public String toString() {
        return policy.toString();
    }
}

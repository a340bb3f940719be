package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;

/**
 * The last change of the policy of one key, as all processes find it.
 *
 * @param number larger than those of all changes before it
 * @param epoch of the limiter's policy when it was made
 * @param given whether the key has a policy of its own from then on; otherwise it is about to have what others have
 * @param policy the one that rules from then on
 * @param before the one that ruled until then
 * @param base the one that it would have if it had none of its own
 * @param lost whether changes that came after it were lost, and it was registered once more: then nobody knows what ruled until then,
 *     unless the key has forgotten it
 */
record OwnRecord(
        long number,
        long epoch,
        boolean given,
        RateLimitPolicy policy,
        RateLimitPolicy before,
        RateLimitPolicy base,
        boolean lost) {

    OwnRecord(
            long number,
            long epoch,
            boolean given,
            RateLimitPolicy policy,
            RateLimitPolicy before,
            RateLimitPolicy base) {
        this(number, epoch, given, policy, before, base, false);
    }

    /** Of a change that was lost with the registry: the way back, as every process that knew of it makes it. */
    OwnRecord undone() {
        return new OwnRecord(number + 1, epoch, false, base, policy, base);
    }

    private static final String GIVEN = "given";
    private static final String RESTORED = "restored";

    /** What own_policies.lua puts behind either. */
    private static final String LOST = " lost";

    private static final int LINES = 6;

    /** The lines behind the number, which own_policies.lua puts in front. */
    static String format(
            long epoch, boolean given, RateLimitPolicy policy, RateLimitPolicy before, RateLimitPolicy base) {
        return String.join(
                "\n",
                Long.toString(epoch),
                given ? GIVEN : RESTORED,
                PolicyText.format(policy),
                PolicyText.format(before),
                PolicyText.format(base));
    }

    /** @throws RedisCorruptStateException if it is not what {@link #format} makes, with a number in front */
    static OwnRecord parse(String text) {
        String[] lines = text.split("\n", -1);
        String word = lines.length == LINES ? lines[2] : "";
        boolean lost = word.endsWith(LOST);
        String how = lost ? word.substring(0, word.length() - LOST.length()) : word;
        if (!(how.equals(GIVEN) || how.equals(RESTORED))) {
            throw new RedisCorruptStateException("the policies of single keys are none that this version knows");
        }
        return new OwnRecord(
                ScriptReply.notNegative("number", lines[0]),
                ScriptReply.notNegative("epoch", lines[1]),
                how.equals(GIVEN),
                PolicyText.parse(lines[3]),
                PolicyText.parse(lines[4]),
                PolicyText.parse(lines[5]),
                lost);
    }
}

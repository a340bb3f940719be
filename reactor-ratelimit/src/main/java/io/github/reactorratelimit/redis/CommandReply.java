package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * What the script replied to one command.
 *
 * @param command what was asked
 * @param policy under which policy
 * @param key what holds for the key after the call
 * @param allowed allowed, reserved, or done
 * @param remaining permits that remain
 * @param waitMicros until the permits are there or the reserved slot comes; {@link Algorithm#UNKNOWN} if
 *     not known
 * @param resetMicros until nothing is spent any more
 * @param part which part of the policy binds
 * @param moreMicros until more than {@code remaining} is there; {@link Algorithm#UNKNOWN} if not known
 * @param byRefund whether refunds paid for the reserved slot: freeing it has to say so
 * @param count of commands that count permits: permits acquired, lost or not charged, see {@link Command.Op};
 *     of a reservation the base of its slot
 * @param text of commands about versions: what is registered
 */
record CommandReply(
        Command command,
        ScriptPolicy policy,
        KeyStatus key,
        boolean allowed,
        long remaining,
        long waitMicros,
        long resetMicros,
        int part,
        long moreMicros,
        boolean byRefund,
        long count,
        String text) {

    /**
     * What holds for a key after a call.
     *
     * @param nowMicros the server's time
     * @param pauseEndMicros when its pause ends; 0 if it is not paused
     * @param shiftMicros by how much reserved slots were moved: a slot's time is its base plus this
     * @param generation that of the slots ahead; 0 if there are none
     * @param tailMicros base of the last slot of the instance that asked, before the call; 0 if it has none
     * @param waiterExists of leases: permits came back and a waiter exists that has to hear of it
     */
    record KeyStatus(
            long nowMicros,
            long pauseEndMicros,
            long shiftMicros,
            long generation,
            long tailMicros,
            boolean waiterExists) {

        /** Of a key that has neither a pause nor slots. */
        static KeyStatus plain(long nowMicros) {
            return new KeyStatus(nowMicros, 0, 0, 0, 0, false);
        }
    }

    /** The part that binds. */
    RateLimitPolicy binding() {
        return policy.part(part);
    }

    /**
     * The server's time of a reserved slot less the shift when it was reserved: how it is known from then on.
     */
    long slotBaseMicros() {
        return count;
    }

    /**
     * The decision on an {@link Command.Op#ACQUIRE} or a {@link Command.Op#PEEK}; of any command a denial.
     *
     * @param owner what a debit belongs to
     * @param userKey the key as the caller names it
     */
    Decision toDecision(Object owner, String userKey) {
        return toDecision(owner, userKey, 0);
    }

    /** @param prepaid permits that remain here, beside those in Redis */
    Decision toDecision(Object owner, String userKey, long prepaid) {
        long remains = remaining + prepaid;
        if (!allowed) {
            return Decision.deny(binding(), command.permits(), remains, resetNanos(), waitNanos());
        }
        if (command.op() != Command.Op.ACQUIRE) {
            return Decision.wouldAllow(binding(), command.permits(), remains, resetNanos(), moreNanos());
        }
        Debit debit = new Debit(owner, userKey, policy.policy(), command.permits(), key.nowMicros());
        return Decision.allow(binding(), remains, resetNanos(), moreNanos(), debit);
    }

    /** The wait, as decisions tell it. */
    long waitNanos() {
        return nanos(waitMicros);
    }

    /** The time until nothing is spent, as decisions tell it. */
    long resetNanos() {
        return nanos(resetMicros);
    }

    /** The time until more remains, as decisions tell it. */
    long moreNanos() {
        return nanos(moreMicros);
    }

    /** The registered policies' texts by their versions, as PolicyText reads them. */
    NavigableMap<Long, String> versions() {
        NavigableMap<Long, String> versions = new TreeMap<>();
        String[] words = text.isEmpty() ? new String[0] : text.split(",");
        for (int i = 0; i + 1 < words.length; i += 2) {
            versions.put(Long.parseLong(words[i]), words[i + 1].replace(';', ' '));
        }
        return versions;
    }

    private static long nanos(long micros) {
        return micros == Algorithm.UNKNOWN ? Decision.UNKNOWN : Tick.MICROSECOND.toNanos(micros);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.concurrent.ThreadLocalRandom;

/**
 * What a limiter wants done with one key, as the script reads it. The head of frame.lua lists the commands
 * and their arguments.
 *
 * @param op what to do
 * @param permits how many; 0 if the command is about none
 * @param argument what else the script needs to know, without blanks; {@code "-"} if nothing
 */
record Command(Op op, long permits, String argument) {

    /** A wait or a pause without limit. */
    static final long UNBOUNDED_MICROS = (1L << 52) - 1;

    private static final long MOST_PERMITS = 1L << 52;

    /** Leaves room for the script to count on. */
    private static final long MOST_GENERATION = 1L << 52;

    private static final String NONE = "-";
    private static final Command ACQUIRE_ONE = new Command(Op.ACQUIRE, 1, NONE);

    /** What to do with the key. */
    enum Op {
        /** Debits the permits if all parts of the policy allow it; otherwise the state does not change. */
        ACQUIRE('a'),
        /**
         * Debits as many of the permits as there are, perhaps none; {@link CommandReply#count} says how many.
         */
        ACQUIRE_UP_TO('u'),
        /** Replies like {@link #ACQUIRE} and debits nothing. */
        PEEK('l'),
        /** Refunds a debit; {@link CommandReply#count} says how many permits are lost. */
        REFUND('b'),
        /** Debits as many of the permits as remain. */
        CHARGE_REMAINING('c'),
        /**
         * Debits the permits, available or not, up to a debt; {@link CommandReply#count} says how many it
         * could not.
         */
        CHARGE('o'),
        /** Debits for a time ahead, the reserved slot, unless that is too far away. */
        RESERVE('r'),
        /** Frees a reserved slot. */
        FREE_SLOT('f'),
        /** Forgets usage and pause. */
        RESET('x'),
        /** Denies everything for a while; reserved slots move by as much. */
        PAUSE('p'),
        /** Like {@link #PAUSE}, unless the key is paused for longer. */
        PAUSE_AT_LEAST('q'),
        /** Counts usage under the policy's predecessor as usage under the policy. */
        CARRY_OVER('m'),
        /** Takes a lease of a concurrency limit if its permits are there. */
        TAKE_LEASE('t'),
        /**
         * Like {@link #TAKE_LEASE} for a waiter: if denied, the next release replies that a waiter exists.
         */
        TAKE_LEASE_FOR_WAITER('w'),
        /** Ends a lease. */
        RELEASE_LEASE('e'),
        /** Prolongs a lease. */
        RENEW_LEASE('n'),
        /**
         * Registers the policy of a version, or only reads all versions; {@link CommandReply#versions} has
         * them.
         */
        REGISTER_VERSION('v'),
        /** Registers another policy as the next version. */
        CHANGE_VERSION('g');

        private final char code;

        Op(char code) {
            this.code = code;
        }

        char code() {
            return code;
        }

        /** Whether it is allowed exactly if there is nothing to wait for. */
        boolean isDecidedByWait() {
            return this == ACQUIRE || this == PEEK;
        }

        /** Whether it may ask for no more permits than the policy's capacity. */
        boolean isBoundedByCapacity() {
            return this == ACQUIRE || this == PEEK || this == RESERVE;
        }
    }

    Command {
        Tick.MICROSECOND.check("permits", permits);
        if (op.isBoundedByCapacity() && permits < 1) {
            throw new IllegalArgumentException("permits must be at least 1, was " + permits);
        }
    }

    static Command acquire(long permits) {
        return permits == 1 ? ACQUIRE_ONE : new Command(Op.ACQUIRE, permits, NONE);
    }

    static Command acquireUpTo(long permits) {
        return new Command(Op.ACQUIRE_UP_TO, permits, NONE);
    }

    static Command peek(long permits) {
        return new Command(Op.PEEK, permits, NONE);
    }

    /** A peek that also tells where the last slot of an instance lies. */
    static Command peekAtSlots(long instance) {
        return new Command(Op.PEEK, 1, Long.toString(instance));
    }

    /** @param debitedAtMicros the server's time of the debit */
    static Command refund(long permits, long debitedAtMicros) {
        Tick.MICROSECOND.check("debitedAtMicros", debitedAtMicros);
        return new Command(Op.REFUND, permits, Long.toString(debitedAtMicros));
    }

    static Command chargeRemaining(long permits) {
        return new Command(Op.CHARGE_REMAINING, Math.min(permits, MOST_PERMITS), NONE);
    }

    /** Charges as many permits as Redis can count exactly. */
    static Command charge(long permits, long maxDebt) {
        return new Command(Op.CHARGE, Math.min(permits, MOST_PERMITS), Long.toString(Math.min(maxDebt, MOST_PERMITS)));
    }

    /**
     * Draws a new generation each time, which the script uses if the key has no slots ahead.
     *
     * @param instance which holder of slots this is: a limiter in a process
     */
    static Command reserve(long permits, long maxWaitMicros, long instance) {
        long generation = ThreadLocalRandom.current().nextLong(1, MOST_GENERATION);
        return reserve(permits, maxWaitMicros, generation, instance);
    }

    static Command reserve(long permits, long maxWaitMicros, long generation, long instance) {
        return new Command(
                Op.RESERVE, permits, Math.min(maxWaitMicros, UNBOUNDED_MICROS) + "," + generation + "," + instance);
    }

    /**
     * @param baseMicros the slot's time on the server less the shift that was known when it was reserved
     * @param byRefund whether refunds paid for it
     */
    static Command freeSlot(long permits, long baseMicros, long generation, boolean byRefund) {
        return new Command(Op.FREE_SLOT, permits, baseMicros + "," + generation + (byRefund ? ",r" : ",-"));
    }

    static Command reset() {
        return new Command(Op.RESET, 0, NONE);
    }

    /** @param micros 0 ends the pause */
    static Command pause(long micros) {
        return new Command(Op.PAUSE, 0, Long.toString(Math.min(micros, UNBOUNDED_MICROS)));
    }

    static Command pauseAtLeast(long micros) {
        return new Command(Op.PAUSE_AT_LEAST, 0, Long.toString(Math.min(micros, UNBOUNDED_MICROS)));
    }

    /** For a {@link ScriptPolicy} with a predecessor. */
    static Command carryOver() {
        return new Command(Op.CARRY_OVER, 0, NONE);
    }

    /**
     * @param id names the lease; holds neither blanks nor commas
     * @param micros how long the lease lasts unless it is renewed
     */
    static Command takeLease(String id, long permits, long micros, boolean forWaiter) {
        return new Command(forWaiter ? Op.TAKE_LEASE_FOR_WAITER : Op.TAKE_LEASE, permits, id + "," + micros);
    }

    static Command releaseLease(String id, long permits, long micros) {
        return new Command(Op.RELEASE_LEASE, permits, id + "," + micros);
    }

    static Command renewLease(String id, long permits, long micros) {
        return new Command(Op.RENEW_LEASE, permits, id + "," + micros);
    }

    static Command readVersions() {
        return new Command(Op.REGISTER_VERSION, 0, NONE);
    }

    /** The first to register a version defines its policy. */
    static Command registerVersion(long version, RateLimitPolicy policy) {
        return new Command(Op.REGISTER_VERSION, version, textOf(policy));
    }

    /** Registers {@code to} behind the newest version, or behind {@code version} if there is none, unless it is that. */
    static Command changeVersion(long version, RateLimitPolicy policy, RateLimitPolicy to) {
        return new Command(Op.CHANGE_VERSION, version, textOf(policy) + "," + textOf(to));
    }

    /** Writes so many of this as the script reads them. */
    void appendTo(StringBuilder entry, int count) {
        entry.append(' ').append(op.code());
        if (count > 1) {
            entry.append(count);
        }
        entry.append(' ').append(permits).append(' ').append(argument);
    }

    /** A policy's text without blanks. */
    private static String textOf(RateLimitPolicy policy) {
        return PolicyText.format(policy).replace(' ', ';');
    }
}

package io.github.reactorratelimit.redis;

import java.util.concurrent.ThreadLocalRandom;

/**
 * One of the asks that travel in a call.
 *
 * @param op what to do
 * @param permits how many; 0 where none are asked for
 * @param atMicros the server's time of the debit that is given back, the base of the slot that is freed, the
 *     longest wait for a slot, how long to pause; of an overdraft no time but the most that may be owed; else 0
 * @param generation of the slot that is freed; of a reservation that of the slots if none are ahead; else 0
 * @param instance who reserves, or looks at its slots; else 0
 * @param byRefund whether refunds paid for the slot that is freed
 */
record Ask(Op op, long permits, long atMicros, long generation, long instance, boolean byRefund) {

    /** A wait for a slot without limit. */
    static final long UNBOUNDED_MICROS = (1L << 52) - 1;

    private static final long MOST_PERMITS = 1L << 52;

    /** Leaves room for the script to count on. */
    private static final long MOST_GENERATION = 1L << 52;

    /** What to do with the key. */
    enum Op {
        /** Debits if all parts allow, else leaves the state untouched. */
        TAKE("t"),
        /** Debits what is there of the permits, perhaps none; how many is in the place of the wait. */
        TAKE_UP_TO("u"),
        /** Answers as a take without debiting. */
        LOOK("l"),
        /** Gives back what was debited. */
        GIVE_BACK("b"),
        /** Debits what remains of the permits. */
        CHARGE("c"),
        /** Debits the permits, there or not, up to a debt; how many were not debited is in the place of the wait. */
        OVERDRAW("o"),
        /** Debits for a time ahead, the slot, if that is not too far. */
        RESERVE("r"),
        /** Gives back a slot that lies ahead. */
        FREE("f"),
        /** Forgets what was spent, and the pause. */
        RESET("x"),
        /** Denies everything for a while; slots ahead come later by as much. */
        PAUSE("p"),
        /** The same, unless it is denied everything for longer. */
        PAUSE_AT_LEAST("q"),
        /** Counts what was spent under the policy before as spent under this one. */
        MOVE("m");

        private final String argument;

        Op(String argument) {
            this.argument = argument;
        }

        boolean takesPermits() {
            return !movesSlots();
        }

        /** Whether it moves the slots that were reserved, or makes them void. */
        boolean movesSlots() {
            return this == RESET || this == PAUSE || this == PAUSE_AT_LEAST || this == MOVE;
        }

        /** Whether it can only be about as many permits as the policy gives at once. */
        boolean isBoundedByCapacity() {
            return this != CHARGE && this != TAKE_UP_TO && this != OVERDRAW;
        }

        /** Whether a number of permits is answered in the place of the wait. */
        boolean countsPermits() {
            return this == TAKE_UP_TO || this == OVERDRAW || this == GIVE_BACK;
        }

        boolean needsSlots() {
            return this == RESERVE || this == FREE;
        }

        String argument() {
            return argument;
        }
    }

    Ask {
        Exact.check("permits", permits);
        Exact.check("atMicros", atMicros);
        if (op.takesPermits() ? permits < 1 : permits != 0) {
            throw new IllegalArgumentException(
                    "permits of a " + op + " must be " + (op.takesPermits() ? "positive" : "0") + ", was " + permits);
        }
    }

    Ask(Op op, long permits, long atMicros, long generation, long instance) {
        this(op, permits, atMicros, generation, instance, false);
    }

    static Ask take(long permits) {
        return new Ask(Op.TAKE, permits, 0, 0, 0);
    }

    static Ask takeUpTo(long permits) {
        return new Ask(Op.TAKE_UP_TO, permits, 0, 0, 0);
    }

    static Ask look(long permits) {
        return new Ask(Op.LOOK, permits, 0, 0, 0);
    }

    /** A look that also tells where the last slot of an instance is. */
    static Ask lookAtSlots(long instance) {
        return new Ask(Op.LOOK, 1, 0, 0, instance);
    }

    static Ask giveBack(long permits, long debitedAtMicros) {
        return new Ask(Op.GIVE_BACK, permits, debitedAtMicros, 0, 0);
    }

    static Ask charge(long permits) {
        return new Ask(Op.CHARGE, permits, 0, 0, 0);
    }

    /** Of more permits than Redis can count as many as it can. */
    static Ask overdraw(long permits, long maxDebt) {
        return new Ask(Op.OVERDRAW, Math.min(permits, MOST_PERMITS), Math.min(maxDebt, MOST_PERMITS), 0, 0);
    }

    /** Each draws another generation. */
    static Ask reserve(long permits, long maxWaitMicros, long instance) {
        long generation = ThreadLocalRandom.current().nextLong(1, MOST_GENERATION);
        return new Ask(Op.RESERVE, permits, Math.min(maxWaitMicros, UNBOUNDED_MICROS), generation, instance);
    }

    static Ask free(long permits, long baseMicros, long generation, boolean byRefund) {
        return new Ask(Op.FREE, permits, baseMicros, generation, 0, byRefund);
    }

    static Ask reset() {
        return new Ask(Op.RESET, 0, 0, 0, 0);
    }

    static Ask pause(long micros) {
        return new Ask(Op.PAUSE, 0, Math.min(micros, UNBOUNDED_MICROS), 0, 0);
    }

    static Ask pauseAtLeast(long micros) {
        return new Ask(Op.PAUSE_AT_LEAST, 0, Math.min(micros, UNBOUNDED_MICROS), 0, 0);
    }

    static Ask move() {
        return new Ask(Op.MOVE, 0, 0, 0, 0);
    }

    /** What the script is told besides the permits. */
    String at() {
        return switch (op) {
            case RESERVE -> atMicros + " " + generation + " " + instance;
            case FREE -> atMicros + " " + generation + (byRefund ? " r" : "");
            case LOOK -> Long.toString(instance);
            default -> Long.toString(atMicros);
        };
    }
}

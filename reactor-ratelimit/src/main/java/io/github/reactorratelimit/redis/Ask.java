package io.github.reactorratelimit.redis;

/**
 * One of the asks that travel in a call.
 *
 * @param op what to do
 * @param permits how many; 0 for a reset
 * @param atMicros the server's time of the debit that is given back, else 0
 */
record Ask(Op op, long permits, long atMicros) {

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
        /** Forgets what was spent. */
        RESET("x");

        private final String argument;

        Op(String argument) {
            this.argument = argument;
        }

        String argument() {
            return argument;
        }
    }

    Ask {
        Exact.check("permits", permits);
        Exact.check("atMicros", atMicros);
        if (op == Op.RESET ? permits != 0 : permits < 1) {
            throw new IllegalArgumentException(
                    "permits of a " + op + " must be " + (op == Op.RESET ? "0" : "positive") + ", was " + permits);
        }
    }

    static Ask take(long permits) {
        return new Ask(Op.TAKE, permits, 0);
    }

    static Ask takeUpTo(long permits) {
        return new Ask(Op.TAKE_UP_TO, permits, 0);
    }

    static Ask look(long permits) {
        return new Ask(Op.LOOK, permits, 0);
    }

    static Ask giveBack(long permits, long debitedAtMicros) {
        return new Ask(Op.GIVE_BACK, permits, debitedAtMicros);
    }

    static Ask charge(long permits) {
        return new Ask(Op.CHARGE, permits, 0);
    }

    static Ask reset() {
        return new Ask(Op.RESET, 0, 0);
    }
}

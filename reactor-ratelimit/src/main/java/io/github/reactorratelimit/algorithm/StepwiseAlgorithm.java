package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.TokenBucket;

/**
 * The token bucket with stepwise refill. The first debit of a full bucket starts a grid, and each period
 * after it {@code refill} tokens come back at once; a full bucket forgets its grid, so refill points are
 * never closer than a period. Twin of stepwise_bucket.lua: change both, or neither.
 */
record StepwiseAlgorithm(TokenBucket policy, long periodTicks, long exactBelow)
        implements Algorithm<StepwiseAlgorithm.Steps> {

    /**
     * What is missing.
     *
     * @param from the last refill point, or the debit that started the grid
     * @param since a period before the next refill point: {@code from}, or later if debits were refunded
     * @param used tokens missing
     * @param first those of them that were debited no later than {@code since}: without them the grid would
     *     start later
     */
    record Steps(long from, long since, long used, long first) {

        private Steps(long since, long used) {
            this(since, since, used, used);
        }
    }

    private static final Steps FULL = new Steps(Long.MIN_VALUE, 0);

    @Override
    public long[] toLongs(Steps state) {
        return new long[] {state.from(), state.since(), state.used(), state.first()};
    }

    @Override
    public Steps ofLongs(long[] longs) {
        Ticks.requireLongs(4, longs);
        return new Steps(longs[0], longs[1], longs[2], longs[3]);
    }

    @Override
    public Steps fresh() {
        return FULL;
    }

    @Override
    public long waitTicks(Steps state, long now, long permits) {
        Steps current = at(state, now);
        long missing = permits - (policy.capacity() - current.used);
        return missing <= 0 ? 0 : ticksUntilRefilled(current, now, missing);
    }

    @Override
    public Steps debit(Steps state, long now, long permits) {
        Steps current = at(state, now);
        if (current.used == 0) {
            return new Steps(now, permits);
        }
        long first = now <= current.since ? current.first + permits : current.first;
        return new Steps(current.from, current.since, current.used + permits, first);
    }

    /** Times stay exact: so many periods, at most, until all is refilled. */
    @Override
    public long chargeable(Steps state, long now, long maxDebt) {
        long periods = exactBelow / 4 / periodTicks;
        long most = periods > Ticks.EXACT_PERMITS / policy.refill() ? Ticks.EXACT_PERMITS : periods * policy.refill();
        return Ticks.chargeable(policy.capacity() - at(state, now).used, maxDebt, most - policy.capacity());
    }

    @Override
    public long remaining(Steps state, long now) {
        return Math.max(0, policy.capacity() - at(state, now).used);
    }

    @Override
    public long resetTicks(Steps state, long now) {
        Steps current = at(state, now);
        return current.used == 0 ? 0 : ticksUntilRefilled(current, now, current.used);
    }

    /**
     * Gives back all if no refill point came since the debit. If nothing else was debited by then that keeps
     * the grid, it starts at {@code now}: without the debit it would have started with one of the later
     * debits.
     *
     * <p>After a refill point it gives back only what all the refills that may have come since, and one more,
     * could not have covered: {@code used} with and without the debit differ by the permits and come closer
     * by at most {@code refill} at each refill point; and the grid without the debit may be later, by less
     * than a period.
     */
    @Override
    public Steps refund(Steps state, long now, long debitedAt, long permits) {
        Steps current = at(state, now);
        long back = permits;
        if (current.from > debitedAt) {
            long periods = Ticks.until(Math.max(now, current.since), debitedAt) / periodTicks;
            boolean covered = periods >= Ticks.ceilDiv(permits, policy.refill()) - 2;
            back = covered ? 0 : permits - (periods + 2) * policy.refill();
        }
        if (back == 0 || current.used == 0) {
            return state;
        }
        if (back >= current.used) {
            return FULL;
        }
        long used = current.used - back;
        if (debitedAt > current.since) {
            return new Steps(current.from, current.since, used, Math.min(current.first, used));
        }
        return current.first > back
                ? new Steps(current.from, current.since, used, current.first - back)
                : new Steps(current.from, Math.max(now, current.since), used, used);
    }

    /** A time before the last refill point counts as that point. */
    private Steps at(Steps state, long now) {
        long refills = Ticks.until(now, state.since) / periodTicks;
        if (refills >= Ticks.ceilDiv(state.used, policy.refill())) {
            return FULL;
        }
        return refills == 0
                ? state
                : new Steps(state.since + refills * periodTicks, state.used - refills * policy.refill());
    }

    private long ticksUntilRefilled(Steps current, long now, long tokens) {
        return Ticks.left(current.since, Ticks.ceilDiv(tokens, policy.refill()) * periodTicks, now);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;

/**
 * Takes of as many permits of one key each, in arrival order. What the server said of all of them is kept here and worked out for each
 * where it is delivered: so the thread of the connection, which has other things to read, does not touch them one by one.
 */
final class TakeRun {

    private final TakeCall call;
    private final TakeAsk first;
    private TakeAsk last;
    private int count = 1;
    private boolean claimed;

    /** In the same call. */
    private @Nullable TakeRun following;

    /** Of what is known of the key, before the call was sent. */
    private long generation;

    /** The first ones. Written before anybody is told, as is the field below. */
    private long allowed;

    private long owedParts;

    TakeRun(TakeCall call, TakeAsk first) {
        this.call = call;
        this.first = first;
        this.last = first;
        this.claimed = first.isClaimed();
        first.joins(this, 0);
    }

    TakeAsk first() {
        return first;
    }

    @Nullable
    TakeRun following() {
        return following;
    }

    void followBy(TakeRun run) {
        following = run;
    }

    /** The asks of this run follow on those of the one before. */
    TakeRun goesOn(@Nullable TakeRun before) {
        if (before != null) {
            before.last.followBy(first);
        }
        return this;
    }

    long generation() {
        return generation;
    }

    /** About to be sent. */
    void sending(long generation) {
        this.generation = generation;
    }

    int count() {
        return count;
    }

    /** Whether an ask for the key may go on with this run. */
    boolean takes(TakeAsk ask) {
        return ask.permits() == first.permits();
    }

    void add(TakeAsk ask) {
        last.followBy(ask);
        last = ask;
        claimed |= ask.isClaimed();
        ask.joins(this, count);
        count++;
    }

    /** So many are allowed, each of which makes the next one owe more; those who are denied change nothing. */
    void answered(long allowed, long owedAfterAll) {
        this.allowed = allowed;
        this.owedParts = owedAfterAll;
        if (claimed) {
            for (TakeAsk ask = first; ask != null; ask = ask.next()) {
                ask.release();
            }
        }
    }

    /** What the ask at a place is told. */
    Decision decide(TakeAsk ask, int place) {
        TakeTerms terms = call.terms();
        if (place >= allowed) {
            return terms.deny(ask.permits(), owedParts);
        }
        long owed = owedParts - (allowed - 1 - place) * terms.cost(ask.permits());
        return terms.allow(ask.state(), ask.key(), ask.permits(), owed, call.nowMicros());
    }
}

package io.github.reactorratelimit.redis;

import org.jspecify.annotations.Nullable;

/** Takes of as many permits of one key each, in arrival order. */
final class TakeRun {

    private final TakeAsk first;
    private TakeAsk last;
    private int count = 1;

    /** Of what is known of the key, before the call was sent. */
    private long generation;

    TakeRun(TakeAsk first) {
        this.first = first;
        this.last = first;
    }

    TakeAsk first() {
        return first;
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
        count++;
    }
}

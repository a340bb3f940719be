package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Reading;

/** A table that lets something happen right before or after its next debit, or before it is settled, as another thread would. */
final class InterposedTable extends WrappedTable {

    private static final Runnable NOTHING = () -> {};

    private Runnable before = NOTHING;
    private Runnable after = NOTHING;
    private Runnable beforeSettling = NOTHING;

    InterposedTable(KeyTable table) {
        super(table);
    }

    void beforeDebit(Runnable once) {
        before = once;
    }

    void afterDebit(Runnable once) {
        after = once;
    }

    void beforeSettling(Runnable once) {
        beforeSettling = once;
    }

    private void interposeBefore() {
        Runnable once = before;
        before = NOTHING;
        once.run();
    }

    private void interposeAfter() {
        Runnable once = after;
        after = NOTHING;
        once.run();
    }

    @Override
    long attempt(String key, long at, long permits, long reserve) {
        interposeBefore();
        long waitTicks = table.attempt(key, at, permits, reserve);
        interposeAfter();
        return waitTicks;
    }

    @Override
    Reading debit(String key, long at, long permits) {
        interposeBefore();
        Reading reading = table.debit(key, at, permits);
        interposeAfter();
        return reading;
    }

    @Override
    long overdraw(String key, long now, long permits, long maxDebt) {
        interposeBefore();
        long left = table.overdraw(key, now, permits, maxDebt);
        interposeAfter();
        return left;
    }

    @Override
    long tryDebitUpTo(String key, long at, long permits, long most) {
        interposeBefore();
        long times = table.tryDebitUpTo(key, at, permits, most);
        interposeAfter();
        return times;
    }

    @Override
    long settle(String key, long at, long reserve, long back) {
        Runnable once = beforeSettling;
        beforeSettling = NOTHING;
        once.run();
        return table.settle(key, at, reserve, back);
    }
}

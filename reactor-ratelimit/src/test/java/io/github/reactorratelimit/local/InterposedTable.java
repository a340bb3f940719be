package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A table that lets something happen right before or after its next debit, or before it is settled, as another thread would. */
final class InterposedTable extends KeyTable {

    private static final Runnable NOTHING = () -> {};

    private final KeyTable table;
    private Runnable before = NOTHING;
    private Runnable after = NOTHING;
    private Runnable beforeSettling = NOTHING;

    InterposedTable(KeyTable table) {
        this.table = table;
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
    long tryDebit(String key, long at, long permits) {
        return table.tryDebit(key, at, permits);
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

    @Override
    Reading read(String key, long now, long permits) {
        return table.read(key, now, permits);
    }

    @Override
    long waitTicks(String key, long at, long permits) {
        return table.waitTicks(key, at, permits);
    }

    @Override
    void refund(String key, LongSupplier clock, long debitedAt, long permits) {
        table.refund(key, clock, debitedAt, permits);
    }

    @Override
    void reset(String key, LongSupplier clock) {
        table.reset(key, clock);
    }

    @Override
    Projection<?> projection(String key, long now) {
        return table.projection(key, now);
    }

    @Override
    int size() {
        return table.size();
    }

    @Override
    List<Spending> spent(String key, long at) {
        return table.spent(key, at);
    }

    @Override
    @Nullable
    Inheritance inheritance() {
        return table.inheritance();
    }

    @Override
    void forEachKey(Consumer<String> action) {
        table.forEachKey(action);
    }

    @Override
    boolean isOverflowing() {
        return table.isOverflowing();
    }

    @Override
    boolean adopt(String key, long now) {
        return table.adopt(key, now);
    }

    @Override
    void inherit(@Nullable Inheritance inheritance) {
        table.inherit(inheritance);
    }

    @Override
    void freeze() {
        table.freeze();
    }
}

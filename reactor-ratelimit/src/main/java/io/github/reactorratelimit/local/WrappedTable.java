package io.github.reactorratelimit.local;

import io.github.reactorratelimit.algorithm.Projection;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Spending;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A table in front of another one, which does whatever is not done here. */
abstract class WrappedTable extends KeyTable {

    final KeyTable table;

    WrappedTable(KeyTable table) {
        this.table = table;
    }

    @Override
    long tryDebit(String key, long at, long permits) {
        return table.tryDebit(key, at, permits);
    }

    @Override
    long tryDebitUpTo(String key, long at, long permits, long most) {
        return table.tryDebitUpTo(key, at, permits, most);
    }

    @Override
    long attempt(String key, long at, long permits, long reserve) {
        return table.attempt(key, at, permits, reserve);
    }

    @Override
    long settle(String key, long at, long reserve, long back) {
        return table.settle(key, at, reserve, back);
    }

    @Override
    Reading debit(String key, long at, long permits) {
        return table.debit(key, at, permits);
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
    long overdraw(String key, long now, long permits, long maxDebt) {
        return table.overdraw(key, now, permits, maxDebt);
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

package io.github.reactorratelimit.algorithm;

import java.util.List;
import java.util.function.ToLongFunction;

/** All parts, asked one by one. */
record CompositeModel(List<ReferenceModel> parts) implements ReferenceModel {

    @Override
    public boolean allows(long now, long permits) {
        return parts.stream().allMatch(part -> part.allows(now, permits));
    }

    @Override
    public void debit(long now, long permits) {
        parts.forEach(part -> part.debit(now, permits));
    }

    @Override
    public long overdraw(long now, long permits, long maxDebt) {
        return most(part -> part.overdraw(now, permits, maxDebt));
    }

    @Override
    public void refund(long now, long debitedAt, long permits) {
        parts.forEach(part -> part.refund(now, debitedAt, permits));
    }

    @Override
    public long remaining(long now) {
        return parts.stream().mapToLong(part -> part.remaining(now)).min().orElseThrow();
    }

    @Override
    public long retry(long now, long permits) {
        return most(part -> part.allows(now, permits) ? 0 : part.retry(now, permits));
    }

    @Override
    public long reset(long now) {
        return most(part -> part.reset(now));
    }

    private long most(ToLongFunction<ReferenceModel> value) {
        return parts.stream().mapToLong(value).max().orElseThrow();
    }

    @Override
    public void checkWorstCase(List<Grant> grants) {
        parts.forEach(part -> part.checkWorstCase(grants));
    }
}

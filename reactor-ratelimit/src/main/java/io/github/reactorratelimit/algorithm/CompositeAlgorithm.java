package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.ToLongBiFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Several policies on one key: all allow, or none is debited. A part that allows a request goes on allowing
 * it until another one comes, so the longest wait of the parts is exact. The state holds those of the parts,
 * in their order, and is never changed. Twin of commands.lua: change both, or neither.
 */
final class CompositeAlgorithm implements Algorithm<Object[]> {

    private final CompositePolicy policy;
    final Algorithm<Object>[] parts;
    private final Object[] fresh;

    /** A part is given only states that it made. */
    @SuppressWarnings("unchecked")
    CompositeAlgorithm(CompositePolicy policy, List<? extends Algorithm<?>> parts) {
        this.policy = policy;
        this.parts = parts.toArray(Algorithm[]::new);
        this.fresh = parts.stream().map(Algorithm::fresh).toArray();
    }

    @Override
    public CompositePolicy policy() {
        return policy;
    }

    @Override
    public Algorithm<Object[]> shared() {
        return new CompositeAlgorithm(
                policy, Arrays.stream(parts).map(Algorithm::shared).toList());
    }

    @Override
    public Algorithm<?> compact() {
        return new CompositeAlgorithm(
                policy, Arrays.stream(parts).map(Algorithm::compact).toList());
    }

    @Override
    public long capacity() {
        return least(fresh, (part, state) -> part.capacity());
    }

    @Override
    public Object[] fresh() {
        return fresh;
    }

    @Override
    public long waitTicks(Object[] state, long now, long permits) {
        long most = 0;
        for (int i = 0; i < parts.length; i++) {
            most = Math.max(most, parts[i].waitTicks(state[i], now, permits));
        }
        return most;
    }

    @Override
    public Object[] debit(Object[] state, long now, long permits) {
        Object[] next = new Object[parts.length];
        for (int i = 0; i < parts.length; i++) {
            next[i] = parts[i].debit(state[i], now, permits);
        }
        return next;
    }

    @Override
    public long chargeable(Object[] state, long now, long maxDebt) {
        return least(state, (part, own) -> part.chargeable(own, now, maxDebt));
    }

    @Override
    public Object[] charge(Object[] state, long now, long permits, long maxDebt) {
        return next(state, (part, own) -> part.charge(own, now, permits, maxDebt));
    }

    @Override
    public long remaining(Object[] state, long now) {
        return least(state, (part, own) -> part.remaining(own, now));
    }

    @Override
    public long resetTicks(Object[] state, long now) {
        long most = 0;
        for (int i = 0; i < parts.length; i++) {
            most = Math.max(most, parts[i].resetTicks(state[i], now));
        }
        return most;
    }

    @Override
    public Object[] refund(Object[] state, long now, long debitedAt, long permits) {
        return next(state, (part, own) -> part.refund(own, now, debitedAt, permits));
    }

    /** Of each part the number of its longs, then these. */
    @Override
    public long[] toLongs(Object[] state) {
        return IntStream.range(0, parts.length)
                .mapToObj(i -> parts[i].toLongs(state[i]))
                .flatMapToLong(longs -> LongStream.concat(LongStream.of(longs.length), LongStream.of(longs)))
                .toArray();
    }

    @Override
    public Object[] ofLongs(long[] longs) {
        Object[] states = new Object[parts.length];
        int from = 0;
        for (int i = 0; i < parts.length; i++) {
            int to = from + 1 + Math.toIntExact(longs[from]);
            states[i] = parts[i].ofLongs(Arrays.copyOfRange(longs, from + 1, to));
            from = to;
        }
        return states;
    }

    @Override
    public List<Spending> spent(Object[] state, long now) {
        return IntStream.range(0, parts.length)
                .boxed()
                .flatMap(i -> parts[i].spent(state[i], now).stream())
                .toList();
    }

    @Override
    public Object[] owing(Object[] state, long at, List<Spending> spent) {
        return next(state, (part, own) -> part.owing(own, at, spent));
    }

    @Override
    public Reading read(Object[] state, long now, long permits) {
        Reading binding = parts[0].read(state[0], now, permits);
        for (int i = 1; i < parts.length; i++) {
            Reading reading = parts[i].read(state[i], now, permits);
            binding = binds(reading, binding) ? reading : binding;
        }
        long moreTicks = binding.allowed() ? moreTicks(state, now, binding.remaining()) : binding.moreTicks();
        return new Reading(
                binding.policy(), binding.remaining(), binding.waitTicks(), resetTicks(state, now), moreTicks);
    }

    private static boolean binds(Reading reading, Reading other) {
        return reading.waitTicks() == other.waitTicks()
                ? reading.remaining() < other.remaining()
                : reading.waitTicks() > other.waitTicks();
    }

    private Object[] next(Object[] state, BiFunction<Algorithm<Object>, Object, Object> step) {
        Object[] next = new Object[parts.length];
        for (int i = 0; i < parts.length; i++) {
            next[i] = step.apply(parts[i], state[i]);
        }
        return next;
    }

    private long least(Object[] state, ToLongBiFunction<Algorithm<Object>, Object> number) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < parts.length; i++) {
            least = Math.min(least, number.applyAsLong(parts[i], state[i]));
        }
        return least;
    }
}

package io.github.reactorratelimit.algorithm;

import io.github.reactorratelimit.CompositePolicy;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;

/**
 * Several policies on one key: all allow, or none is debited. What a part allows it goes on allowing
 * while nobody asks, so the longest wait of the parts is exact. Twin of composite.lua: change both, or
 * neither.
 */
final class CompositeAlgorithm implements Algorithm<CompositeAlgorithm.States> {

    private final CompositePolicy policy;
    private final List<Part<?>> parts;
    private final States fresh;

    CompositeAlgorithm(CompositePolicy policy, List<? extends Algorithm<?>> algorithms) {
        this.policy = policy;
        Part<?>[] numbered = new Part<?>[algorithms.size()];
        Object[] states = new Object[algorithms.size()];
        for (int i = 0; i < numbered.length; i++) {
            numbered[i] = new Part<>(algorithms.get(i), i);
            states[i] = algorithms.get(i).fresh();
        }
        this.parts = List.of(numbered);
        this.fresh = new States(states);
    }

    /** The states of the parts, in their order; the array is never changed. */
    static final class States {

        private final Object[] parts;

        private States(Object[] parts) {
            this.parts = parts;
        }
    }

    @Override
    public CompositePolicy policy() {
        return policy;
    }

    @Override
    public Algorithm<States> shared() {
        return new CompositeAlgorithm(
                policy, parts.stream().map(part -> part.algorithm.shared()).toList());
    }

    @Override
    public long limit() {
        return least(part -> part.algorithm.limit());
    }

    @Override
    public States fresh() {
        return fresh;
    }

    @Override
    public long waitTicks(States state, long now, long permits) {
        return most(part -> part.waitTicks(state, now, permits));
    }

    @Override
    public States debit(States state, long now, long permits) {
        Object[] next = new Object[parts.size()];
        parts.forEach(part -> next[part.index] = part.debit(state, now, permits));
        return new States(next);
    }

    @Override
    public long chargeable(States state, long now, long maxDebt) {
        return least(part -> part.chargeable(state, now, maxDebt));
    }

    @Override
    public States charge(States state, long now, long permits, long maxDebt) {
        Object[] next = new Object[parts.size()];
        parts.forEach(part -> next[part.index] = part.charge(state, now, permits, maxDebt));
        return new States(next);
    }

    @Override
    public long remaining(States state, long now) {
        return least(part -> part.remaining(state, now));
    }

    @Override
    public long resetTicks(States state, long now) {
        return most(part -> part.resetTicks(state, now));
    }

    @Override
    public States refund(States state, long now, long debitedAt, long permits) {
        Object[] next = new Object[parts.size()];
        parts.forEach(part -> next[part.index] = part.refund(state, now, debitedAt, permits));
        return new States(next);
    }

    /** Of each part the number of its longs, then these. */
    @Override
    public long[] toLongs(States state) {
        LongStream.Builder longs = LongStream.builder();
        for (Part<?> part : parts) {
            long[] own = part.toLongs(state);
            longs.add(own.length);
            Arrays.stream(own).forEach(longs);
        }
        return longs.build().toArray();
    }

    @Override
    public States ofLongs(long[] longs) {
        Object[] states = new Object[parts.size()];
        int from = 0;
        for (Part<?> part : parts) {
            int to = from + 1 + Math.toIntExact(longs[from]);
            states[part.index] = part.algorithm.ofLongs(Arrays.copyOfRange(longs, from + 1, to));
            from = to;
        }
        return new States(states);
    }

    @Override
    public States rebase(States state, long now) {
        Object[] next = new Object[parts.size()];
        boolean changed = false;
        for (Part<?> part : parts) {
            next[part.index] = part.rebase(state, now);
            changed |= next[part.index] != state.parts[part.index];
        }
        return changed ? new States(next) : state;
    }

    @Override
    public List<Spending> spent(States state, long now) {
        return parts.stream().flatMap(part -> part.spent(state, now).stream()).toList();
    }

    @Override
    public States owing(States state, long at, List<Spending> spent) {
        Object[] next = new Object[parts.size()];
        parts.forEach(part -> next[part.index] = part.owing(state, at, spent));
        return new States(next);
    }

    @Override
    public Reading read(States state, long now, long permits) {
        Reading binding = parts.get(0).read(state, now, permits);
        for (Part<?> part : parts.subList(1, parts.size())) {
            Reading reading = part.read(state, now, permits);
            if (binds(reading, binding)) {
                binding = reading;
            }
        }
        long moreTicks = binding.allowed() ? moreTicks(state, now, binding.remaining()) : binding.moreTicks();
        return new Reading(
                binding.policy(),
                binding.limit(),
                binding.remaining(),
                binding.waitTicks(),
                resetTicks(state, now),
                moreTicks);
    }

    private static boolean binds(Reading reading, Reading other) {
        return reading.waitTicks() == other.waitTicks()
                ? reading.remaining() < other.remaining()
                : reading.waitTicks() > other.waitTicks();
    }

    private long least(ToLongFunction<Part<?>> value) {
        long least = Long.MAX_VALUE;
        for (Part<?> part : parts) {
            least = Math.min(least, value.applyAsLong(part));
        }
        return least;
    }

    private long most(ToLongFunction<Part<?>> value) {
        long most = 0;
        for (Part<?> part : parts) {
            most = Math.max(most, value.applyAsLong(part));
        }
        return most;
    }

    /** One algorithm on its own state among the others. */
    private static final class Part<S> {

        final Algorithm<S> algorithm;
        final int index;

        Part(Algorithm<S> algorithm, int index) {
            this.algorithm = algorithm;
            this.index = index;
        }

        /** Only this part writes at its index. */
        @SuppressWarnings("unchecked")
        private S own(States states) {
            return (S) states.parts[index];
        }

        long waitTicks(States state, long now, long permits) {
            return algorithm.waitTicks(own(state), now, permits);
        }

        S debit(States state, long now, long permits) {
            return algorithm.debit(own(state), now, permits);
        }

        long chargeable(States state, long now, long maxDebt) {
            return algorithm.chargeable(own(state), now, maxDebt);
        }

        S charge(States state, long now, long permits, long maxDebt) {
            return algorithm.charge(own(state), now, permits, maxDebt);
        }

        long remaining(States state, long now) {
            return algorithm.remaining(own(state), now);
        }

        long resetTicks(States state, long now) {
            return algorithm.resetTicks(own(state), now);
        }

        S refund(States state, long now, long debitedAt, long permits) {
            return algorithm.refund(own(state), now, debitedAt, permits);
        }

        long[] toLongs(States state) {
            return algorithm.toLongs(own(state));
        }

        S rebase(States state, long now) {
            return algorithm.rebase(own(state), now);
        }

        List<Spending> spent(States state, long now) {
            return algorithm.spent(own(state), now);
        }

        S owing(States state, long at, List<Spending> spent) {
            return algorithm.owing(own(state), at, spent);
        }

        Reading read(States state, long now, long permits) {
            return algorithm.read(own(state), now, permits);
        }
    }
}

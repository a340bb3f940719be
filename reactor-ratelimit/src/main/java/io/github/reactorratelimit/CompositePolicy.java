package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Several policies on one key: a request is allowed only if all of them allow it, and then all are debited in
 * one atomic step. A denial costs nothing and {@linkplain Decision#policy() names} the policy that denied.
 * {@link Policies#all} makes it.
 *
 * @param parts at least two policies, none of them a {@link ConcurrencyLimit} or composite
 */
public record CompositePolicy(List<RateLimitPolicy> parts) implements RateLimitPolicy {

    public CompositePolicy {
        Objects.requireNonNull(parts, "parts");
        parts = List.copyOf(parts);
        Checks.require(parts.size() >= 2, "parts must be at least two policies, was " + parts.size());
        for (RateLimitPolicy part : parts) {
            if (part.needsRelease()) {
                throw new IllegalArgumentException("parts must not hold a ConcurrencyLimit, whose permits come back by"
                        + " release; apply it with a separate limitRate operator");
            }
            if (part.parts().size() > 1) {
                throw new IllegalArgumentException("parts must not hold a composite; list its parts instead");
            }
        }
    }

    @Override
    public long capacity() {
        return parts.stream().mapToLong(RateLimitPolicy::capacity).min().orElseThrow();
    }

    @Override
    public long queueCapacity() {
        return parts.stream().mapToLong(RateLimitPolicy::queueCapacity).min().orElseThrow();
    }

    @Override
    public boolean settles() {
        return parts.stream().allMatch(RateLimitPolicy::settles);
    }

    @Override
    public CompositePolicy share(int n) {
        return new CompositePolicy(parts.stream().map(part -> part.share(n)).toList());
    }

    @Override
    public Duration period() {
        return parts.stream()
                .map(RateLimitPolicy::period)
                .max(Duration::compareTo)
                .orElseThrow();
    }

    @Override
    public Optional<Duration> timeFor(long permits) {
        return parts.stream().flatMap(part -> part.timeFor(permits).stream()).max(Duration::compareTo);
    }

    @Override
    public <R> R accept(PolicyVisitor<R> visitor) {
        return visitor.visit(this);
    }
}

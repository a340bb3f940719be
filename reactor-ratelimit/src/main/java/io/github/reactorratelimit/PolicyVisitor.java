package io.github.reactorratelimit;

/**
 * Tells the kinds of policies apart: one method for each, so that code which must know them all does not
 * compile when a new kind appears. Most code does not need it: see the other methods of {@link
 * RateLimitPolicy}.
 *
 * <pre>{@code
 * String name = policy.accept(new MyNames());   // MyNames implements PolicyVisitor<String>
 * }</pre>
 *
 * @param <R> the result
 */
public interface PolicyVisitor<R> {

    /** Visits a token bucket. */
    R visit(TokenBucket policy);

    /** Visits a GCRA. */
    R visit(Gcra policy);

    /** Visits a leaky bucket. */
    R visit(LeakyBucket policy);

    /** Visits a warm-up. */
    R visit(WarmUp policy);

    /** Visits a fixed window. */
    R visit(FixedWindow policy);

    /** Visits a sliding window log. */
    R visit(SlidingWindowLog policy);

    /** Visits a sliding window counter. */
    R visit(SlidingWindowCounter policy);

    /** Visits a concurrency limit. */
    R visit(ConcurrencyLimit policy);

    /** Visits a composite; a visitor that wants its parts asks for them. */
    R visit(CompositePolicy policy);
}

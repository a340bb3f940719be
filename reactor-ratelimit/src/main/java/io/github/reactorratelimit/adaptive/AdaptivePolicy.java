package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.RateLimitPolicy;

/** Says which limit moves, between which bounds, and how. An immutable value, valid by construction. */
public sealed interface AdaptivePolicy permits AdaptiveRate, AdaptiveConcurrency {

    /** The lowest limit, whatever the downstream answers. */
    long floor();

    /** The highest limit, however well the downstream does. */
    long ceiling();

    /** The limit at the start. */
    long initial();

    /** The signs of overload, and how fast it reacts. */
    Adaptation adaptation();

    /** The policy in effect at this limit. */
    RateLimitPolicy at(long limit);
}

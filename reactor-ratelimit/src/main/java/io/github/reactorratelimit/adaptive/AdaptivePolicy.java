package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.RateLimitPolicy;

/** What may move, between which bounds, and how. An immutable value, valid by construction. */
public sealed interface AdaptivePolicy permits AdaptiveRate, AdaptiveConcurrency {

    /** The limit is never lower, whatever the downstream answers. */
    long floor();

    /** The limit is never higher, however well the downstream does. */
    long ceiling();

    /** The limit before anything was learned. */
    long initial();

    /** What is learned from, and how fast. */
    Adaptation adaptation();

    /** The policy in force while the limit is so high. */
    RateLimitPolicy at(long limit);
}

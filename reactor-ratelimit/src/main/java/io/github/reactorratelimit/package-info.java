/**
 * The vocabulary: policies, limiter, decision, what can go wrong, and the interfaces a store
 * implements. Looks at no other package of this library, but for {@link
 * io.github.reactorratelimit.RateLimiterBuilder}, which knows the default store.
 */
@NullMarked
package io.github.reactorratelimit;

import org.jspecify.annotations.NullMarked;

/**
 * The limiter in front of a store: checks arguments, normalises keys, finds a key's policy, reads the
 * deadline from the Context, counts decisions. Internal: users meet it as {@link
 * io.github.reactorratelimit.RateLimiter}. Looks only at the root package.
 */
@NullMarked
package io.github.reactorratelimit.limiter;

import org.jspecify.annotations.NullMarked;

/**
 * Puts a limiter in front of calls that a {@code WebClient} makes, and learns from what the answers say. Looks at the root package, the
 * operators and the retries of the core, never at stores or algorithms.
 */
@NullMarked
package io.github.reactorratelimit.webflux.client;

import org.jspecify.annotations.NullMarked;

/**
 * The Redis store: one queue of commands per node, one script for all policies, one call in flight per key.
 * Uses the root package, the algorithms, whose steps the scripts repeat, and the queues of waiters. Only the
 * store, its failure modes, its self-test and its exceptions are for users.
 */
@NullMarked
package io.github.reactorratelimit.redis;

import org.jspecify.annotations.NullMarked;

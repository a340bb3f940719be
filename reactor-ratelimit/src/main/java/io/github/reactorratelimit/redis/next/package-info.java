/**
 * The Redis store as it is rebuilt: one queue of commands, one script, one call in flight per key. Not used yet.
 */
@NullMarked
package io.github.reactorratelimit.redis.next;

import org.jspecify.annotations.NullMarked;

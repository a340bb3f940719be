/**
 * What must be seen on real servers with several processes: shared limits under load, a leaky bucket across processes,
 * faults, memory. Each scenario is a test with a short form in the default build and a long one with {@code -Pfull}.
 */
@NullMarked
package io.github.reactorratelimit.redis.harness;

import org.jspecify.annotations.NullMarked;

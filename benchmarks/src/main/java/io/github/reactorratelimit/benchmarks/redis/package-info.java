/** Decisions on a Redis server that the benchmark starts, all contenders with the same limit. */
@NullMarked
package io.github.reactorratelimit.benchmarks.redis;

import org.jspecify.annotations.NullMarked;

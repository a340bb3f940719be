/**
 * Load runs against a Redis server: one load generator for all, one small class per contender. A contender is asked by a
 * fixed number of lanes, each of which asks again when it was answered.
 */
@NullMarked
package io.github.reactorratelimit.benchmarks.redis;

import org.jspecify.annotations.NullMarked;

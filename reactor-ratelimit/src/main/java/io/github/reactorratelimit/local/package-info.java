/**
 * The store in this process: key tables, eviction, overflow cells, the sketch, keyed hashing. Imports the root package,
 * the algorithms and the queues.
 */
@NullMarked
package io.github.reactorratelimit.local;

import org.jspecify.annotations.NullMarked;

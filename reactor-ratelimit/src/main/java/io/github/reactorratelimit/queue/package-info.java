/**
 * Waiting: one bounded first-in-first-out queue per key, one timer per limiter, and the delivery of grants. {@code KeyQueue} is the
 * skeleton of all queues; its subclasses, here and in other packages, say where the next grant comes from. Internal. Looks at
 * the root package and the algorithms.
 */
@NullMarked
package io.github.reactorratelimit.queue;

import org.jspecify.annotations.NullMarked;

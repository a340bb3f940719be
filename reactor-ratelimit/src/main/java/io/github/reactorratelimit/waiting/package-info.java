/**
 * Standing in line: one bounded first-in-first-out queue per key, one timer per limiter, and the
 * hand-over of a grant to its waiter. Internal. Looks at the root package and the algorithms.
 */
@NullMarked
package io.github.reactorratelimit.waiting;

import org.jspecify.annotations.NullMarked;

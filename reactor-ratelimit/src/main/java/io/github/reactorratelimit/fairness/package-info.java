/**
 * Who goes first when many share one limit: classes of calls, one before the other, and tenants with a weight inside a class.
 * Stands in front of any limiter. Looks at the root package, and at the mailbox of the lines.
 */
@NullMarked
package io.github.reactorratelimit.fairness;

import org.jspecify.annotations.NullMarked;

/**
 * Runs a list of arrivals through a policy and tells what would have become of each: to compare policies
 * on one's own logs, and to draw plots. Pure: no clock, no Reactor, the same answers every time. Looks at
 * the root package and the algorithms.
 */
@NullMarked
package io.github.reactorratelimit.replay;

import org.jspecify.annotations.NullMarked;

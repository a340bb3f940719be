/**
 * The algorithms as pure steps: (state, now, permits) to next state and decision. No Reactor, no clock,
 * no I/O. Looks only at the policies of the root package. Each algorithm has a
 * twin in Lua that gives the same answers at the same tick; the golden vectors drive both.
 */
@NullMarked
package io.github.reactorratelimit.algorithm;

import org.jspecify.annotations.NullMarked;

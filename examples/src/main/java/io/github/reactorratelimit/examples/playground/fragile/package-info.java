/** The second tab: the same calls to two copies of a fragile server, with a limiter before one of them. */
@NullMarked
package io.github.reactorratelimit.examples.playground.fragile;

import org.jspecify.annotations.NullMarked;

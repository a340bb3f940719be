/** The first tab: traffic through every kind of limiter at once, in real time. */
@NullMarked
package io.github.reactorratelimit.examples.playground.live;

import org.jspecify.annotations.NullMarked;

/** The replay tab: a log that somebody pasted or dropped, through several policies. */
@NullMarked
package io.github.reactorratelimit.examples.playground.replay;

import org.jspecify.annotations.NullMarked;

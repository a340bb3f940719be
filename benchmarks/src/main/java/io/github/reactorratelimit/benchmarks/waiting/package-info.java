/** Runs in which callers wait for their turn: how even the pace is, what a cancelled wait leaves behind, how waiting grows. */
@NullMarked
package io.github.reactorratelimit.benchmarks.waiting;

import org.jspecify.annotations.NullMarked;

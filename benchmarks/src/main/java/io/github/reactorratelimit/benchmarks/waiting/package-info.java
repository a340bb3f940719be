/** Waiting for permits in real time. */
@NullMarked
package io.github.reactorratelimit.benchmarks.waiting;

import org.jspecify.annotations.NullMarked;

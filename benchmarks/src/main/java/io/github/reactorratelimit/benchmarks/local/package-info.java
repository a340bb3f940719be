/** Decisions in one process, at everyday limits. */
@NullMarked
package io.github.reactorratelimit.benchmarks.local;

import org.jspecify.annotations.NullMarked;

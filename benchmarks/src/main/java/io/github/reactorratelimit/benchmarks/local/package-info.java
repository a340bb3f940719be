/** Groups that need nothing but this process, measured with JMH: one interface per group, one small class per contender. */
@NullMarked
package io.github.reactorratelimit.benchmarks.local;

import org.jspecify.annotations.NullMarked;

/** From JMH's JSON to tables and charts. */
@NullMarked
package io.github.reactorratelimit.benchmarks.report;

import org.jspecify.annotations.NullMarked;

/**
 * From rounds to what people read: tables with ratios, charts, and the raw data beside them. Knows nothing of how a round
 * is run.
 */
@NullMarked
package io.github.reactorratelimit.benchmarks.report;

import org.jspecify.annotations.NullMarked;

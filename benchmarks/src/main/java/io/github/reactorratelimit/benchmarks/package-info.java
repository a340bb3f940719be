/** JMH benchmarks of the library and side-by-side runs with its peers. Nothing imports them. */
@NullMarked
package io.github.reactorratelimit.benchmarks;

import org.jspecify.annotations.NullMarked;

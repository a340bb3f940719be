/** HTTP load on filters of real servers on the loopback address. */
@NullMarked
package io.github.reactorratelimit.benchmarks.web;

import org.jspecify.annotations.NullMarked;

/**
 * Redis servers for the examples and the benchmarks, started by these themselves on free loopback ports, so that nothing needs
 * to be installed. Looks at nothing of the library; the tests of the library have servers of their own, with faults.
 */
@NullMarked
package io.github.reactorratelimit.embedded;

import org.jspecify.annotations.NullMarked;

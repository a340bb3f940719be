/**
 * What the tests of all modules share: Redis servers, seeds, waiting for a condition, races of two threads, child processes. The examples and the
 * benchmarks start their servers with it too. Looks at nothing of the library, because the library's own tests use it.
 */
@NullMarked
package io.github.reactorratelimit.testing;

import org.jspecify.annotations.NullMarked;

/**
 * Runs a log of requests through policies: what they would have let through, and whom they would have limited. The
 * command line is here; the playground's tab is a second face of the same.
 */
@NullMarked
package io.github.reactorratelimit.examples.replay;

import org.jspecify.annotations.NullMarked;

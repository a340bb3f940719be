/**
 * Meters of a limiter in a Micrometer registry. Optional: the only package that needs Micrometer on
 * the class path. Looks only at the root package.
 */
@NullMarked
package io.github.reactorratelimit.micrometer;

import org.jspecify.annotations.NullMarked;

/** Puts a limiter in front of Spring WebFlux endpoints. Looks at the root package, never at stores or algorithms. */
@NullMarked
package io.github.reactorratelimit.webflux;

import org.jspecify.annotations.NullMarked;

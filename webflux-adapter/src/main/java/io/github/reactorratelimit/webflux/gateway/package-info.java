/** Rules as the rate limiter of Spring Cloud Gateway, which is an optional dependency. Looks at the package of the engine. */
@NullMarked
package io.github.reactorratelimit.webflux.gateway;

import org.jspecify.annotations.NullMarked;

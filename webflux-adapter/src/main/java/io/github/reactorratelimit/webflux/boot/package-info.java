/**
 * Spring Boot: limits from {@code reactor-ratelimit.*} properties, and what Boot's applications expect beside them. The only package that needs Boot;
 * nothing in the other ones looks at it.
 */
@NullMarked
package io.github.reactorratelimit.webflux.boot;

import org.jspecify.annotations.NullMarked;

package io.github.reactorratelimit.webflux;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Limits the requests that a controller's method handles, by rules of these names. On a class it is for all methods that have none of
 * their own.
 *
 * <pre>{@code
 * @PostMapping("/reports")
 * @RateLimited("reports")
 * Mono<Report> create(@RequestBody Query query) { … }
 * }</pre>
 *
 * <p>Whatever path leads to the method, the rules apply; a rule that the filter has applied to the request already does not count it
 * twice. Needs a {@link RateLimitedHandlerAdapter} among the beans.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface RateLimited {

    /** Names of the rules, at least one; the conditions of a rule, its paths for one, do not matter here. */
    String[] value();
}

package io.github.reactorratelimit.testing.redis;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Asks {@link RedisExtension} for servers that no other test uses. A method gets its own, the constructors of a test class
 * share one; they end with the method or the class. {@link CommandCount} accepts no other servers of the extension.
 */
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface Dedicated {}

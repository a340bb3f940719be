/**
 * The state of the keys in Redis, shared by all who use it: keys, scripts, replies. Looks at the root
 * package and at the algorithms, whose steps the scripts repeat; the integers they count with come from
 * there. Nothing in here is meant for users but the store and its exceptions.
 */
@NullMarked
package io.github.reactorratelimit.redis;

import org.jspecify.annotations.NullMarked;

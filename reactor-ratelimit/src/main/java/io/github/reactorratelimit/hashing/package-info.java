/**
 * Hashes of keys that nobody can steer from outside. Internal: the stores and what watches keys stand on it.
 * Looks at no other package of the library.
 */
@NullMarked
package io.github.reactorratelimit.hashing;

import org.jspecify.annotations.NullMarked;

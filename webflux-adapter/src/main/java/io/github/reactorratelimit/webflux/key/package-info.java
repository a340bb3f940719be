/** Whom a request counts for: its client's address, its user, its API key, or several of them together. */
@NullMarked
package io.github.reactorratelimit.webflux.key;

import org.jspecify.annotations.NullMarked;

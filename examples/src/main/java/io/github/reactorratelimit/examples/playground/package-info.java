/**
 * The playground: a web page that makes rate limiting visible. This package starts it and holds what its tabs
 * share; each tab has a package of its own below, which no other tab imports.
 */
@NullMarked
package io.github.reactorratelimit.examples.playground;

import org.jspecify.annotations.NullMarked;

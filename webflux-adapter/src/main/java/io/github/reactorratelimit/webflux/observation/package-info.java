/** Observations of the decisions on requests. Names no type of the engine, which imports this package. */
@NullMarked
package io.github.reactorratelimit.webflux.observation;

import org.jspecify.annotations.NullMarked;

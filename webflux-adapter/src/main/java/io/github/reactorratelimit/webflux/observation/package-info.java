/** What Micrometer is told about the decisions on requests. Names no type of the engine, which looks at this package. */
@NullMarked
package io.github.reactorratelimit.webflux.observation;

import org.jspecify.annotations.NullMarked;

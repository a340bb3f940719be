/**
 * Limits that find out by themselves what a downstream can bear: from its latency, its errors and its refusals. A state machine without clock or threads
 * decides ({@code Control}); an operator measures; a limiter of this process keeps the limit. Looks at the root and at the operators.
 */
@NullMarked
package io.github.reactorratelimit.adaptive;

import org.jspecify.annotations.NullMarked;

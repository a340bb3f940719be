/**
 * How streams meet a limiter: the operators of {@link
 * io.github.reactorratelimit.operator.RateLimitOperators}. Looks only at the root package.
 */
@NullMarked
package io.github.reactorratelimit.operator;

import org.jspecify.annotations.NullMarked;

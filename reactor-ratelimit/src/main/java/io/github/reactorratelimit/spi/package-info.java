/**
 * How a third party adds a store: it implements {@link io.github.reactorratelimit.spi.CompareAndSwapEngine} on an engine with
 * compare-and-swap, and {@link io.github.reactorratelimit.spi.CompareAndSwapStore} gives it every policy, waiting and cancellation. Looks at
 * the root, the algorithms and the queues.
 */
@NullMarked
package io.github.reactorratelimit.spi;

import org.jspecify.annotations.NullMarked;

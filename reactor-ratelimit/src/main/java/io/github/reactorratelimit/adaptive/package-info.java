/**
 * Limits that find out what a downstream can bear, from its latency, its errors and its rejections. {@code
 * LimitController} decides, without clock or threads; a subscriber measures each call; a limiter of this
 * process enforces the limit. Looks at the root, the operators and the drain loop of the queues.
 */
@NullMarked
package io.github.reactorratelimit.adaptive;

import org.jspecify.annotations.NullMarked;

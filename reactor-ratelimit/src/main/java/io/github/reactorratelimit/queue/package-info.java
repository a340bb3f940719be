/**
 * Waiting: one bounded first-in-first-out queue with one timer per key, and the delivery of grants. {@code KeyQueue} is the
 * skeleton of all queues; its subclasses, here and in other packages, say where the next grant comes from. Internal. Looks at
 * the root package and the algorithms.
 *
 * <p>What a store needs of it:
 *
 * <ul>
 *   <li>{@code KeyQueues} holds the queues of one limiter. {@code await} makes a request wait, {@code ifWaiting} and
 *       {@code forEachQueue} reach the queues, {@code hasWaiters} tells whether a request would overtake, {@code close} fails all waiters.
 *   <li>{@code QueuedKey} is a key as its queue sees it: its time, how to refund, how to deny. A store that answers later implements
 *       {@code RetryingKey} and uses {@code RetryingQueue.queues(settings)}. If something changes, it calls {@code retryNow}. A store
 *       in this process implements {@code ImmediateKey} and uses {@code LocalQueues}.
 *   <li>Another source of grants is a subclass of {@code KeyQueue}: {@code admit} accepts or denies a newcomer, {@code serve} answers
 *       those that can be answered and returns the time at which to look again, {@code deny} makes a denial. All three run in the drain
 *       loop, on one thread at a time. What happens outside is an event that is {@code post}ed and runs there too.
 *   <li>{@code CallingQueue} is a {@code KeyQueue} with one call to a store in flight: {@code call} makes it, {@code take} handles its
 *       answer. What waits need not be a request for permits, see {@code QueuedRequest}.
 *   <li>{@code DrainLoop} can be used alone.
 * </ul>
 */
@NullMarked
package io.github.reactorratelimit.queue;

import org.jspecify.annotations.NullMarked;

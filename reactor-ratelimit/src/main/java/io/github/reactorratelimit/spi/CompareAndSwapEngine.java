package io.github.reactorratelimit.spi;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Values by key, shared by several members and changed by compare-and-swap: what a third party implements to get a
 * {@link CompareAndSwapStore}. A map of Hazelcast, a table with a version column or a bucket of a log-based store can be one.
 *
 * <pre>{@code
 * RateLimitStore store = CompareAndSwapStore.of(new HazelcastEngine(member, "limits"));
 * RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(100)).name("calls").store(store).build();
 * }</pre>
 *
 * <p>Every method is non-blocking: it does nothing before subscription and acts once per subscription. It may answer on any thread.
 * All members must see the same values: a write that was answered is seen by each read that starts later.
 *
 * <p>An error means that the call failed or that its outcome is unknown. The store never repeats a write that failed, and permits of a
 * write with an unknown outcome count as spent.
 */
public interface CompareAndSwapEngine {

    /** The value of the key; empty if there is none, or if its time to live has passed. */
    Mono<byte[]> get(String key);

    /**
     * Stores {@code next} if the key's value is {@code expected}, in one atomic step.
     *
     * @param expected the value that must be there, compared byte by byte; null if there must be none
     * @param timeToLive at least this long the value must be kept; afterwards it should be removed
     * @return whether the value was stored; false if another one was there
     */
    Mono<Boolean> compareAndSet(String key, byte @Nullable [] expected, byte[] next, Duration timeToLive);

    /**
     * Removes the key's value if it is {@code expected}, in one atomic step.
     *
     * @return whether the value was removed; false if another one was there, or none
     */
    Mono<Boolean> compareAndRemove(String key, byte[] expected);

    /**
     * The time of a clock that all members share, to the microsecond if possible. If each member uses its own clock, the clocks differ by a
     * skew: a key's time never goes back, so a member whose clock is ahead by the skew can grant {@code rate * skew} permits early, once.
     */
    Mono<Instant> now();
}

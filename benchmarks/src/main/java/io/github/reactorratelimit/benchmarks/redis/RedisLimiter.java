package io.github.reactorratelimit.benchmarks.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A contender that is connected; all of its keys have the limit that it was opened with. */
interface RedisLimiter extends AutoCloseable {

    /** Long enough that a slow machine delays a decision and fails none. */
    Duration DEADLINE = Duration.ofSeconds(10);

    /**
     * A token bucket.
     *
     * @param permits per second
     * @param burst its capacity
     */
    record BucketSize(long permits, long burst) {}

    /** Receives each decision once, on any thread, possibly before {@code tryAcquire} returns. */
    interface Receiver {

        void decided(boolean allowed);

        void failed(Throwable reason);

        /** For contenders with futures. */
        default void complete(boolean allowed, @Nullable Throwable reason) {
            if (reason == null) {
                decided(allowed);
            } else {
                failed(reason);
            }
        }
    }

    /** Connects a contender for {@code keys}. Two with the same keys share their state. */
    interface Opener {
        RedisLimiter open(RedisClient client, RedisURI uri, String[] keys, BucketSize limit) throws Exception;
    }

    /** Requests one permit of the key with this number. */
    void tryAcquire(int key, Receiver receiver);

    @Override
    void close();
}

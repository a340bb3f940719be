package io.github.reactorratelimit.queue;

/** What a waiter requests. Times are nanoseconds of any origin. */
public interface QueuedRequest {

    /** The key in whose queue it waits. */
    String key();

    /** The time. */
    long now();

    /** Takes back an answer that the subscriber did not receive because it cancelled. */
    void giveBack(Object undelivered);
}

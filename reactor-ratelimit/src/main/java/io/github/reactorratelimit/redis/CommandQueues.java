package io.github.reactorratelimit.redis;

/** The queue of each node that a connection reaches. */
interface CommandQueues {

    /** The queue of the node that holds a key. */
    CommandQueue of(String name);

    /** Whether the keys of a call must lie in one hash slot. */
    boolean isCluster();

    /** A command missed its deadline: replaces connections that are dead. Never blocks. */
    void check();
}

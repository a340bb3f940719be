package io.github.reactorratelimit.benchmarks.redis;

/** One way to ask Redis for permits of a key, all of whose keys have the limit that it was opened with. */
interface Target extends AutoCloseable {

    /** Opens a contender for keys 0 to {@code keys - 1}. Two that are opened for the same {@code name} share their state. */
    interface Opener {

        Target open(RedisBench bench, String name, int keys, Limit limit) throws Exception;
    }

    void ask(int key, long permits, Answer answer);

    @Override
    void close();
}

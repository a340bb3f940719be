package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.ComparedBenchmark;
import io.github.reactorratelimit.benchmarks.waiting.WaitContender.Waiting;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;
import reactor.core.Disposable;

/**
 * A waiter cancels, and another joins the queue of the same key. Cancelled waiters are spread over the whole
 * queue. The limit is 100 per minute, so that hardly a waiter is granted its permit meanwhile.
 */
public class QueueBenchmark extends ComparedBenchmark {

    @Param
    public WaitContender contender = WaitContender.ACQUIRE;

    @Param("10000")
    public int waiters;

    private @Nullable Waiting waiting;
    private Disposable[] queue = {};
    private int next;
    private int stride;

    /** Fills the queue. */
    @Setup
    public void open() {
        Waiting opened = contender.open(100, Duration.ofMinutes(1), 2 * waiters);
        waiting = opened;
        opened.permit().subscribe();
        queue = new Disposable[waiters];
        stride = waiters * 5 / 8 + 1;
        for (int i = 0; i < waiters; i++) {
            queue[i] = opened.permit().subscribe(granted -> {}, error -> {});
        }
    }

    /** One leaves, one joins. */
    @Benchmark
    public Disposable cancelAndJoin() {
        queue[next].dispose();
        Disposable joined = Objects.requireNonNull(waiting).permit().subscribe(granted -> {}, error -> {});
        queue[next] = joined;
        next = (next + stride) % waiters;
        return joined;
    }

    /** Joining was possible: who joins still waits. */
    @TearDown
    public void close() {
        boolean refused = queue[(next + waiters - stride % waiters) % waiters].isDisposed();
        Objects.requireNonNull(waiting).close();
        if (refused) {
            throw new IllegalStateException("the last waiter was not let in");
        }
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.waiting.SerialWorker;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.util.concurrent.Queues;

/**
 * Takes in arrival order. While few calls are under way what is asked is sent at once, by itself; what is asked meanwhile
 * travels together, for one key or many, in the next call. So nobody waits while the wire is idle, and a busy one carries few calls.
 *
 * <p>Calls are written by one worker at a time, and all that share a pipe go to the same node of Redis, which runs them in the order
 * in which they come: so the takes of a key are decided in arrival order, though several calls may be under way.
 */
final class TakePipe extends SerialWorker {

    /** So that Redis is busy with one call for less than a millisecond: a run of takes costs it the same, however long it is. */
    static final int MAX_RUNS = 128;

    /** So that who works off the answers is not busy with one call for long. */
    static final int MAX_ASKS = 1_024;

    /** While there is more to send than fits into a call: what is far away takes long, however little it does. */
    private static final int MOST_UNDER_WAY = 32;

    private final TakePipes pipes;
    private final int maxUnderWay;
    private final int maxAsks;
    private final Queue<TakeAsk> asked =
            Queues.<TakeAsk>unboundedMultiproducer().get();
    private final AtomicInteger underWay = new AtomicInteger();

    /** Redis is away: what was not sent yet need not wait for its own deadline. */
    private volatile @Nullable RedisUnavailableException away;

    /** The worker's. */
    private boolean lastWasFull;

    /** The worker's: the last run of each key in the call that is put together. */
    private final Map<String, TakeRun> lastRuns = new HashMap<>();

    /** @param maxUnderWay calls that may be under way before asks gather; {@code maxAsks} of them share one */
    TakePipe(TakePipes pipes, int maxUnderWay, int maxAsks) {
        this.pipes = pipes;
        this.maxUnderWay = maxUnderWay;
        this.maxAsks = maxAsks;
    }

    TakePipes pipes() {
        return pipes;
    }

    void ask(TakeAsk ask) {
        asked.offer(ask);
        if (!pipes.deliveries().pokesLater(this)) {
            poke();
        }
    }

    @Override
    protected void work() {
        RedisUnavailableException gone = away;
        if (gone != null) {
            away = null;
            giveUp(gone);
        }
        while (underWay.get() < (lastWasFull ? Math.max(maxUnderWay, MOST_UNDER_WAY) : maxUnderWay)) {
            TakeCall call = gather();
            lastWasFull = call != null && call.runs().size() >= MAX_RUNS;
            if (call == null) {
                return;
            }
            underWay.incrementAndGet();
            pipes.send(call);
        }
    }

    private @Nullable TakeCall gather() {
        TakeCall call = null;
        TakeRun last = null;
        int overdue = 0;
        long nowNanos = pipes.now();
        for (int asks = 0; asks < maxAsks && (call == null || call.runs().size() < MAX_RUNS); ) {
            TakeAsk ask = asked.poll();
            if (ask == null) {
                break;
            }
            if (ask.isLeft()) {
                continue;
            }
            if (pipes.isOverdue(ask, nowNanos)) {
                fail(ask, pipes.overdue());
                overdue++;
                continue;
            }
            asks++;
            if (call == null) {
                call = new TakeCall(this);
                last = new TakeRun(ask);
                call.add(last);
            } else {
                last = add(call, last, ask);
            }
        }
        if (!lastRuns.isEmpty()) {
            lastRuns.clear();
        }
        if (overdue > 0) {
            deliver(overdue);
        }
        return call;
    }

    /** The run that the ask belongs to: the last one of its key, or a new one. */
    private TakeRun add(TakeCall call, @Nullable TakeRun before, TakeAsk ask) {
        TakeRun run = before;
        if (run == null || !run.first().key().equals(ask.key())) {
            if (lastRuns.isEmpty()) {
                call.runs().forEach(known -> lastRuns.put(known.first().key(), known));
            }
            run = lastRuns.get(ask.key());
        }
        if (run != null && run.takes(ask)) {
            run.add(ask);
            return run;
        }
        TakeRun next = new TakeRun(ask);
        call.add(next);
        if (!lastRuns.isEmpty()) {
            lastRuns.put(ask.key(), next);
        }
        return next;
    }

    private void giveUp(RedisUnavailableException gone) {
        int ready = 0;
        for (TakeAsk ask = asked.poll(); ask != null; ask = asked.poll()) {
            if (!ask.isLeft()) {
                fail(ask, gone);
                ready++;
            }
        }
        if (ready > 0) {
            deliver(ready);
        }
    }

    /** A call was answered; the next one is sent before anybody is told. */
    void succeeded() {
        pipes.breaker().succeeded();
        ended();
    }

    /** However many asks travel in it, a call that fails is one failure. */
    void failed(Throwable error) {
        if (error instanceof RedisUnavailableException gone) {
            pipes.breaker().failed(pipes.now());
            away = gone;
        }
        ended();
    }

    private void ended() {
        underWay.decrementAndGet();
        poke();
    }

    void fail(TakeCall call, Throwable error) {
        for (TakeRun run : call.runs()) {
            for (TakeAsk ask = run.first(); ask != null; ) {
                TakeAsk following = ask.next();
                ask.followBy(null);
                fail(ask, error);
                ask = following;
            }
        }
        deliver(call.asks());
    }

    private void fail(TakeAsk ask, Throwable error) {
        ask.failed(error);
        add(ask);
    }

    /** Ready; {@link #deliver} follows. */
    void add(TakeAsk ask) {
        pipes.deliveries().add(ask);
    }

    void deliver(int ready) {
        pipes.deliveries().deliver(ready);
    }

    /** The short script did not decide: nothing was written. */
    void askWhole(TakeRun run) {
        pipes.unusual().mark(run.first().key(), pipes.now());
        for (TakeAsk ask = run.first(); ask != null; ) {
            TakeAsk following = ask.next();
            ask.followBy(null);
            ask.state().askWhole(ask);
            ask = following;
        }
    }
}

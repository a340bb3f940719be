package io.github.reactorratelimit.redis;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Puts the asks of a call into runs. One thread's at a time, and used for one call after the other. */
final class CallBuilder {

    private final TakePipe pipe;
    private @Nullable TakeCall call;

    /** Of the ask before. */
    private @Nullable TakeRun last;

    /** The last run of each key, once there are several. */
    private final Map<String, TakeRun> lastRuns = new HashMap<>();

    CallBuilder(TakePipe pipe) {
        this.pipe = pipe;
    }

    boolean isFull() {
        return call != null && call.runs() >= TakePipe.MAX_RUNS;
    }

    boolean isFor(String key) {
        return call != null && call.isFor(key);
    }

    /** To the last run of its key, or to a new one. */
    void add(TakeAsk ask) {
        if (call == null) {
            call = new TakeCall(pipe, ask);
            last = call.firstRun();
        } else {
            last = add(call, ask);
        }
    }

    private TakeRun add(TakeCall to, TakeAsk ask) {
        TakeRun run = last;
        if (run == null || !run.first().key().equals(ask.key())) {
            if (lastRuns.isEmpty()) {
                for (TakeRun known = to.firstRun(); known != null; known = known.following()) {
                    lastRuns.put(known.first().key(), known);
                }
            }
            run = lastRuns.get(ask.key());
        }
        if (run != null && run.takes(ask)) {
            run.add(ask);
            return run;
        }
        TakeRun next = to.add(ask);
        if (!lastRuns.isEmpty()) {
            lastRuns.put(ask.key(), next);
        }
        return next;
    }

    /** The call, null if nothing was added; the next one begins. */
    @Nullable
    TakeCall take() {
        TakeCall done = call;
        call = null;
        last = null;
        if (!lastRuns.isEmpty()) {
            lastRuns.clear();
        }
        return done;
    }
}

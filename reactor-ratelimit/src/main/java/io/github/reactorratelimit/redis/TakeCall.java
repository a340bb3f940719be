package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.protocol.CommandType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Takes that travel together, for one key or many: one call of takes.lua, answered within the deadline, all or none. When it is over it is
 * the bundle of those who have to be told.
 */
final class TakeCall extends AskBundle implements Deadlines.Watched {

    private static final int UNDECIDED = -1;
    private static final int VALUES_PER_RUN = 2;

    private final TakePipe pipe;
    private final List<TakeRun> runs = new ArrayList<>(1);
    private final AtomicBoolean over = new AtomicBoolean();
    private int asks;
    private long sentNanos;
    private long nowMicros;

    /** The command that is under way. */
    private volatile @Nullable Future<?> command;

    TakeCall(TakePipe pipe) {
        this.pipe = pipe;
    }

    void add(TakeRun run) {
        runs.add(run);
    }

    List<TakeRun> runs() {
        return runs;
    }

    boolean isFor(String key) {
        for (TakeRun run : runs) {
            if (run.first().key().equals(key)) {
                return true;
            }
        }
        return false;
    }

    int asks() {
        return asks;
    }

    /** Whether all runs are of as many takes of as many permits. */
    boolean areAlike() {
        TakeRun first = runs.get(0);
        for (TakeRun run : runs) {
            if (run.count() != first.count() || !run.takes(first.first())) {
                return false;
            }
        }
        return true;
    }

    void send(long nowNanos) {
        sentNanos = nowNanos;
        for (TakeRun run : runs) {
            asks += run.count();
            TakeAsk first = run.first();
            run.sending(first.state().shortcuts().generation(first.key()));
        }
        send(CommandType.EVALSHA);
    }

    /** Once more, with the text of the script: the server did not know it, so nothing ran. False if it is over. */
    boolean sendText() {
        if (over.get()) {
            return false;
        }
        send(CommandType.EVAL);
        return true;
    }

    private void send(CommandType type) {
        TakePipes pipes = pipe.pipes();
        LongsOutput output = new LongsOutput(pipes.codec());
        try {
            RedisFuture<?> sent =
                    pipes.commands().dispatch(type, output, pipes.arguments(this, type == CommandType.EVAL));
            command = sent;
            if (over.get()) {
                sent.cancel(true);
            }
            sent.whenComplete((ignored, error) -> came(type, output, error));
        } catch (RuntimeException notSent) {
            end(null, ScriptCaller.classify(notSent));
        }
    }

    private void came(CommandType type, LongsOutput output, @Nullable Throwable error) {
        if (error == null) {
            end(output.integers(), null);
        } else if (type == CommandType.EVALSHA && unwrapped(error) instanceof RedisNoScriptException && !over.get()) {
            pipe.sendAgain(this);
        } else {
            end(null, ScriptCaller.classify(unwrapped(error)));
        }
    }

    private static Throwable unwrapped(Throwable error) {
        Throwable cause = error instanceof CompletionException ? error.getCause() : null;
        return cause == null ? error : cause;
    }

    @Override
    public boolean isOver() {
        return over.get();
    }

    /** The deadline has passed. A command that was not written yet is dropped, so that a reconnect does not send it late. */
    @Override
    public void fail(Throwable error) {
        if (end(null, error)) {
            Future<?> sent = command;
            if (sent != null) {
                sent.cancel(true);
            }
        }
    }

    private boolean end(long @Nullable [] reply, @Nullable Throwable error) {
        if (!over.compareAndSet(false, true)) {
            return false;
        }
        if (reply != null && isRight(reply)) {
            nowMicros = reply[0];
            pipe.succeeded();
            RedisState state = runs.get(0).first().state();
            settle(reply);
            state.unavailability().redisAnswered();
        } else {
            Throwable failure = error != null ? error : new RedisReplyException("reply is none of takes.lua");
            pipe.failed(this, failure);
        }
        return true;
    }

    private boolean isRight(long[] reply) {
        if (reply.length != 1 + VALUES_PER_RUN * runs.size() || !Exact.holds(reply[0])) {
            return false;
        }
        for (int i = 0; i < runs.size(); i++) {
            long allowed = reply[1 + VALUES_PER_RUN * i];
            long owed = reply[2 + VALUES_PER_RUN * i];
            boolean known = allowed >= UNDECIDED && allowed <= runs.get(i).count();
            if (!known || owed < 0 || owed > pipe.pipes().terms().mostParts()) {
                return false;
            }
        }
        return true;
    }

    private void settle(long[] reply) {
        TakeRun before = null;
        TakeAsk first = null;
        int ready = 0;
        for (int i = 0; i < runs.size(); i++) {
            TakeRun run = runs.get(i);
            long allowed = reply[1 + VALUES_PER_RUN * i];
            if (allowed == UNDECIDED) {
                pipe.askWhole(run);
            } else {
                settle(run, allowed, reply[2 + VALUES_PER_RUN * i]);
                first = first == null ? run.first() : first;
                before = run.goesOn(before);
                ready += run.count();
            }
        }
        tell(first, ready);
    }

    private void tell(@Nullable TakeAsk first, int ready) {
        if (first != null) {
            fill(first);
            pipe.deliver(this, ready);
        }
    }

    /** All of them have failed. */
    void tellAll() {
        TakeRun before = null;
        for (TakeRun run : runs) {
            before = run.goesOn(before);
        }
        tell(runs.get(0).first(), asks);
    }

    @Override
    public int size() {
        return asks;
    }

    /** The first are allowed, each of which makes the next one owe more; those who are denied change nothing. */
    private void settle(TakeRun run, long allowed, long owedAfterAll) {
        long cost = pipe.pipes().terms().cost(run.first().permits());
        long owed = owedAfterAll - allowed * cost;
        long left = allowed;
        for (TakeAsk ask = run.first(); ask != null; ask = ask.next()) {
            ask.release();
            owed += left > 0 ? cost : 0;
            ask.answered(this, left > 0, owed);
            left--;
        }
        learn(run, allowed, owedAfterAll);
    }

    /** Before anybody hears of it, for who was denied may ask again at once; and when the claims are dropped. */
    private void learn(TakeRun run, long allowed, long owedParts) {
        TakeAsk first = run.first();
        boolean denied = allowed < run.count();
        first.state()
                .shortcuts()
                .learn(first.key(), pipe.pipes().terms(), owedParts, denied, run.generation(), sentNanos);
    }

    /** What an ask of this call is told. */
    Decision decide(TakeAsk ask, boolean allowed, long owedParts) {
        TakeTerms terms = pipe.pipes().terms();
        return allowed
                ? terms.allow(ask.state(), ask.key(), ask.permits(), owedParts, nowMicros)
                : terms.deny(ask.permits(), owedParts);
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.protocol.CommandType;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * Takes that travel together, for one key or many: one call of takes.lua, answered within the deadline, all or none. When it is over it is
 * the bundle of those who have to be told.
 */
final class TakeCall extends AskBundle implements Deadlines.Watched {

    private static final int UNDECIDED = -1;
    private static final int VALUES_PER_RUN = 2;

    private static final AtomicIntegerFieldUpdater<TakeCall> OVER =
            AtomicIntegerFieldUpdater.newUpdater(TakeCall.class, "over");

    private final TakePipe pipe;
    private final TakeRun first;
    private TakeRun last;
    private int runs = 1;
    private int asks;

    /** 1 when it is: whoever sets it tells. */
    private volatile int over;

    private long sentNanos;
    private long nowMicros;

    /** Told where the answer was read. */
    private boolean here;

    /** The thread that is about to look whether the answer is already there: it does not read the connection then. */
    private @Nullable Thread attaching;

    /** The command that is under way. */
    private volatile @Nullable Future<?> command;

    TakeCall(TakePipe pipe, TakeAsk ask) {
        this.pipe = pipe;
        this.first = new TakeRun(this, ask);
        this.last = first;
    }

    /** A new run for this ask. */
    TakeRun add(TakeAsk ask) {
        TakeRun run = new TakeRun(this, ask);
        last.followBy(run);
        last = run;
        runs++;
        return run;
    }

    TakeTerms terms() {
        return pipe.pipes().terms();
    }

    /** The server's time at which all were decided. */
    long nowMicros() {
        return nowMicros;
    }

    /** Each is {@linkplain TakeRun#following() followed} by the next. */
    TakeRun firstRun() {
        return first;
    }

    int runs() {
        return runs;
    }

    boolean isFor(String key) {
        for (TakeRun run = first; run != null; run = run.following()) {
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
        for (TakeRun run = first; run != null; run = run.following()) {
            if (run.count() != first.count() || !run.takes(first.first())) {
                return false;
            }
        }
        return true;
    }

    void send(long nowNanos) {
        sentNanos = nowNanos;
        for (TakeRun run = first; run != null; run = run.following()) {
            asks += run.count();
            TakeAsk ask = run.first();
            run.sending(ask.state().shortcuts().generation(ask.key()));
        }
        send(CommandType.EVALSHA);
    }

    /** Once more, with the text of the script: the server did not know it, so nothing ran. False if it is over. */
    boolean sendText() {
        if (isOver()) {
            return false;
        }
        send(CommandType.EVAL);
        return true;
    }

    private void send(CommandType type) {
        TakePipes pipes = pipe.pipes();
        boolean withText = type == CommandType.EVAL;
        try {
            LongsOutput output = new LongsOutput(pipes.codec());
            RedisFuture<?> sent = pipes.commands().dispatch(type, output, pipes.arguments(this, withText));
            command = sent;
            if (isOver()) {
                sent.cancel(true);
            }
            attaching = Thread.currentThread();
            sent.whenComplete((ignored, error) -> came(withText, output, error));
            attaching = null;
        } catch (Throwable notSent) {
            end(null, ScriptCaller.classify(notSent));
        }
    }

    private void came(boolean withText, LongsOutput output, @Nullable Throwable error) {
        if (error == null) {
            end(output.integers(), null);
        } else if (!withText && unwrapped(error) instanceof RedisNoScriptException && !isOver()) {
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
        return over != 0;
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
        if (!OVER.compareAndSet(this, 0, 1)) {
            return false;
        }
        if (reply != null && isRight(reply)) {
            nowMicros = reply[0];
            first.first().state().unavailability().redisAnswered();
            CallerThread caller = first.first().caller();
            if (caller == null && pipe.pipes().tellsOnConnection() && attaching != Thread.currentThread()) {
                OnConnection.tell(() -> tellHere(reply));
            } else {
                pipe.succeeded(caller);
                settle(reply);
            }
        } else {
            Throwable failure = error != null ? error : new RedisReplyException("reply is none of takes.lua");
            pipe.failed(this, failure);
        }
        return true;
    }

    private void tellHere(long[] reply) {
        here = true;
        pipe.succeededHere();
        settle(reply);
        pipe.sendWaiting();
    }

    private boolean isRight(long[] reply) {
        if (reply.length != 1 + VALUES_PER_RUN * runs || !Exact.holds(reply[0])) {
            return false;
        }
        int value = 1;
        for (TakeRun run = first; run != null; run = run.following()) {
            long allowed = reply[value];
            long owed = reply[value + 1];
            boolean known = allowed >= UNDECIDED && allowed <= run.count();
            if (!known || owed < 0 || owed > terms().mostParts()) {
                return false;
            }
            value += VALUES_PER_RUN;
        }
        return true;
    }

    private void settle(long[] reply) {
        TakeRun before = null;
        TakeAsk told = null;
        int ready = 0;
        int value = 1;
        for (TakeRun run = first; run != null; run = run.following()) {
            if (reply[value] == UNDECIDED) {
                pipe.askWhole(run);
            } else {
                settle(run, reply[value], reply[value + 1]);
                told = told == null ? run.first() : told;
                before = run.goesOn(before);
                ready += run.count();
            }
            value += VALUES_PER_RUN;
        }
        handOver(told, ready);
    }

    /** Those whose thread is known are told there, each by itself; the others together. */
    private void handOver(@Nullable TakeAsk told, int ready) {
        TakeAsk others = null;
        TakeAsk lastOther = null;
        int left = ready;
        for (TakeAsk ask = told; ask != null; ) {
            TakeAsk following = ask.next();
            ask.followBy(null);
            if (ask.isTakenOver()) {
                left--;
            } else if (lastOther == null) {
                others = ask;
                lastOther = ask;
            } else {
                lastOther.followBy(ask);
                lastOther = ask;
            }
            ask = following;
        }
        tell(others, left);
    }

    private void tell(@Nullable TakeAsk told, int ready) {
        if (told != null) {
            fill(told);
            pipe.deliver(this, ready, here);
        }
    }

    /** All of them have failed. */
    void tellAll() {
        TakeRun before = null;
        for (TakeRun run = first; run != null; run = run.following()) {
            before = run.goesOn(before);
        }
        tell(first.first(), asks);
    }

    @Override
    public int size() {
        return asks;
    }

    /** Learned before anybody hears of it, for who was denied may ask again at once; and when the claims are dropped. */
    private void settle(TakeRun run, long allowed, long owedParts) {
        run.answered(allowed, owedParts);
        TakeAsk ask = run.first();
        boolean denied = allowed < run.count();
        ask.state().shortcuts().learn(ask.key(), terms(), owedParts, denied, run.generation(), sentNanos);
    }
}

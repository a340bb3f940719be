package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.queue.DrainLoop;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.util.concurrent.Queues;

/**
 * Takes in arrival order. While few calls are under way what is asked is sent at once, by itself; what is asked meanwhile
 * travels together, for one key or many, in the next call. So nobody waits while the wire is idle, and a busy one carries few calls.
 *
 * <p>What else is asked for a key, by the whole script, passes through the queue too unless that is empty, and is asked when the takes before it
 * are sent; and a take that comes while such asks of its key are not sent is asked by the whole script too, behind them. So nothing overtakes
 * what was asked for its key before, and no key waits for another.
 *
 * <p>Where the server does not know the script what is under way is sent again, in order, and what is new waits for that.
 *
 * <p>Calls are written by one worker at a time, and all that share a pipe go to the same node of Redis, which runs them in the order
 * in which they come: so the takes of a key are decided in arrival order, though several calls may be under way. What the connection's own thread
 * writes overtakes what another thread wrote a moment before: so the worker is not poked there by answers, but by those who deliver, before
 * they deliver. Only who asks on that thread, because Lettuce was given the application's event loops, works there.
 *
 * <p>Where a {@linkplain CallerThread thread} that asks is known, as event loops are, the worker is poked at the end of its {@linkplain Turn
 * turn}: what all of its requests ask travels together.
 *
 * <p>Unless answers are to be told {@linkplain OnConnection on the connection's thread}, and whoever began the call named no thread: then that is where most is asked. The worker writes
 * there what it found only if nothing of the limiter is under way, so that there is nothing to overtake: it looks after it took
 * the asks out, and whoever asked one of them began its calls of before earlier. While calls are under way it leaves the asks to the end
 * of those, which gathers them, or to a worker on another thread. And subscribers are told before the next call is sent, so that what they ask travels in
 * it: one call after the other carries everybody, and no thread is woken.
 */
final class TakePipe extends DrainLoop {

    /** What stands in the queue. */
    interface Asked {}

    private record Passing(Runnable asking) implements Asked {}

    private record Away(RedisUnavailableException error, long sinceNanos) {}

    /** Of the pipe whose turn it is to ask something by the whole script on this thread. */
    private static final ThreadLocal<@Nullable TakePipe> PASSING = new ThreadLocal<>();

    /** So that Redis is busy with one call for less than a millisecond: a run of takes costs it the same, however long it is. */
    static final int MAX_RUNS = 128;

    /** So that who works off the answers is not busy with one call for long. */
    static final int MAX_ASKS = 1_024;

    /** While there is more to send than fits into a call: what is far away takes long, however little it does. */
    private static final int MOST_UNDER_WAY = 32;

    private final TakePipes pipes;
    private final int maxUnderWay;
    private final int maxAsks;
    private final Queue<Asked> asked = Queues.<Asked>unboundedMultiproducer().get();
    private final AtomicInteger underWay = new AtomicInteger();

    private final Runnable poking = this::signal;

    private final Turn turn;

    private final TakeResends resends = new TakeResends();

    /** Redis is away: what was not sent yet need not wait for its own deadline. Whoever sets it pokes. */
    private volatile @Nullable Away away;

    /** The worker's. */
    private boolean lastWasFull;

    /** The worker's: asked by the whole script when what is put together is sent. */
    private @Nullable Runnable next;

    /** The worker's: put together on the connection's thread, and kept back for another. */
    private @Nullable TakeCall kept;

    /** Whether {@code kept} or {@code next} are for another thread, until that has sent them. */
    private volatile boolean keepsBack;

    /** The worker's. */
    private final CallBuilder building = new CallBuilder(this);

    /** @param maxUnderWay calls that may be under way before asks gather; {@code maxAsks} of them share one */
    TakePipe(TakePipes pipes, int maxUnderWay, int maxAsks) {
        this.pipes = pipes;
        this.maxUnderWay = maxUnderWay;
        this.maxAsks = maxAsks;
        this.turn = new Turn(this, pipes.timer());
    }

    TakePipes pipes() {
        return pipes;
    }

    void ask(TakeAsk ask) {
        asked.offer(ask);
        if (!isPokedLater(ask.caller())) {
            signal();
        }
    }

    private boolean isPokedLater(@Nullable CallerThread caller) {
        if (caller == null || !caller.isCurrent()) {
            return pipes.deliveries().pokesLater(this);
        }
        return turn.pokesLater(caller);
    }

    @Override
    protected void drain() {
        boolean here = OnConnection.isHere();
        long begun = here ? pipes.begun() : 0;
        if (here && !mayWorkHere()) {
            return;
        }
        Away gone = away;
        if (gone != null) {
            away = null;
            giveUp(gone);
        }
        if (!resends.sendAll()) {
            return;
        }
        if (keepsBack) {
            sendKept();
        }
        while (underWay.get() < mostUnderWay()) {
            TakeCall call = gather();
            lastWasFull = call != null && call.runs() >= MAX_RUNS;
            if (call == null && next == null) {
                return;
            }
            if (here && pipes.begun() != begun && keepBack(call)) {
                return;
            }
            send(call);
            begun += call == null ? 0 : 1;
            passNext();
        }
    }

    private void send(@Nullable TakeCall call) {
        if (call != null) {
            underWay.incrementAndGet();
            pipes.send(call);
        }
    }

    /** False if no other thread takes it any more. */
    private boolean keepBack(@Nullable TakeCall call) {
        kept = call;
        keepsBack = true;
        boolean isTaken = pipes.deliveries().runElsewhere(poking);
        if (!isTaken) {
            kept = null;
            keepsBack = false;
        }
        return isTaken;
    }

    private void sendKept() {
        send(kept);
        kept = null;
        passNext();
        keepsBack = false;
    }

    /** Else another thread does, or this one when the last call under way is answered. */
    private boolean mayWorkHere() {
        boolean forOthers = keepsBack || resends.areWaiting();
        if (!forOthers && pipes.isQuiet()) {
            return true;
        }
        boolean isElsewhere = forOthers || (underWay.get() == 0 && !asked.isEmpty());
        return isElsewhere && !pipes.deliveries().runElsewhere(poking);
    }

    private int mostUnderWay() {
        return lastWasFull ? Math.max(maxUnderWay, MOST_UNDER_WAY) : maxUnderWay;
    }

    private void passNext() {
        Runnable asking = next;
        if (asking != null) {
            next = null;
            pass(asking);
        }
    }

    private void pass(Runnable asking) {
        TakePipe outer = PASSING.get();
        PASSING.set(this);
        try {
            asking.run();
        } finally {
            PASSING.set(outer);
        }
    }

    /** Runs what asks by the whole script when all takes that came before are sent. */
    void behind(Runnable asking) {
        if (PASSING.get() == this || (asked.isEmpty() && isIdle() && !keepsBack && mayPassHere())) {
            asking.run();
        } else {
            asked.offer(new Passing(asking));
            signal();
        }
    }

    private boolean mayPassHere() {
        return !OnConnection.isHere() || pipes.isQuiet();
    }

    private @Nullable TakeCall gather() {
        int overdue = 0;
        long nowNanos = pipes.now();
        for (int asks = 0; asks < maxAsks && !building.isFull(); ) {
            Asked first = asked.poll();
            if (!(first instanceof TakeAsk ask)) {
                next = first instanceof Passing passing ? passing.asking() : null;
                break;
            }
            if (ask.isLeft()) {
                ask.release();
            } else if (pipes.isOverdue(ask, nowNanos)) {
                fail(ask, pipes.overdue());
                overdue++;
            } else if (!pipes.isAskedWhole(ask.key())) {
                asks++;
                building.add(ask);
            } else if (building.isFor(ask.key())) {
                next = () -> askWhole(ask);
                break;
            } else {
                pass(() -> askWhole(ask));
            }
        }
        if (overdue > 0) {
            deliver(overdue);
        }
        return building.take();
    }

    /** What was asked later is none of those who waited. */
    private void giveUp(Away gone) {
        int ready = 0;
        for (Asked first = asked.peek(); first != null; first = asked.peek()) {
            if (first instanceof TakeAsk ask && ask.askedNanos() - gone.sinceNanos() > 0) {
                break;
            }
            asked.poll();
            if (first instanceof Passing passing) {
                pass(passing.asking());
            } else if (first instanceof TakeAsk ask && ask.isLeft()) {
                ask.release();
            } else if (first instanceof TakeAsk ask) {
                fail(ask, gone.error());
                ready++;
            }
        }
        if (ready > 0) {
            deliver(ready);
        }
    }

    /**
     * A call was answered; the next one is sent before anybody is told.
     *
     * @param caller a thread that wants to be told, null if there is none
     */
    void succeeded(@Nullable CallerThread caller) {
        pipes.breaker().succeeded();
        underWay.decrementAndGet();
        if (isWaiting() && !isPokedBy(caller)) {
            pokeElsewhere();
        }
    }

    /** A thread that is the connection's own must not write: it would overtake others. */
    private boolean isPokedBy(@Nullable CallerThread caller) {
        return caller != null && !caller.isCurrent() && turn.pokesLater(caller);
    }

    /** A call was answered, which is told on this thread; {@link #sendWaiting} follows. */
    void succeededHere() {
        pipes.breaker().succeeded();
        underWay.decrementAndGet();
    }

    void sendWaiting() {
        if (isWaiting()) {
            signal();
        }
    }

    private boolean isWaiting() {
        return keepsBack || !asked.isEmpty();
    }

    /** However many asks travel in it, a call that fails is one failure. */
    void failed(TakeCall call, Throwable error) {
        boolean othersWait = !asked.isEmpty();
        long now = pipes.now();
        pipes.breaker().failed(error, now);
        if (othersWait && error instanceof RedisUnavailableException gone) {
            away = new Away(gone, now);
        }
        underWay.decrementAndGet();
        if (othersWait || isWaiting()) {
            pokeElsewhere();
        }
        fail(call, error);
    }

    private void pokeElsewhere() {
        pipes.deliveries().add(poking);
        deliver(1);
    }

    /** The server did not know the script. */
    void sendAgain(TakeCall call) {
        resends.add(call);
        pokeElsewhere();
    }

    private static void fail(TakeCall call, Throwable error) {
        for (TakeRun run = call.firstRun(); run != null; run = run.following()) {
            for (TakeAsk ask = run.first(); ask != null; ask = ask.next()) {
                ask.failed(error);
            }
        }
        call.tellAll();
    }

    private void fail(TakeAsk ask, Throwable error) {
        ask.failed(error);
        pipes.deliveries().add(ask);
    }

    private void deliver(int ready) {
        pipes.deliveries().deliver(ready);
    }

    void deliver(TakeCall call, int ready, boolean here) {
        pipes.deliveries().add(call);
        if (!here || !pipes.deliveries().deliverHere(ready)) {
            deliver(ready);
        }
    }

    /** The short script did not decide: nothing was written. */
    void askWhole(TakeRun run) {
        pipes.unusual().mark(run.first().key(), pipes.now());
        for (TakeAsk ask = run.first(); ask != null; ) {
            TakeAsk following = ask.next();
            ask.followBy(null);
            TakeAsk undecided = ask;
            pass(() -> askWhole(undecided));
            ask = following;
        }
    }

    private static void askWhole(TakeAsk ask) {
        ask.release();
        ask.state().askWhole(ask);
    }
}

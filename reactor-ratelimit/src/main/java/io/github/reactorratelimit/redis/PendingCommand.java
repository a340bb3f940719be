package io.github.reactorratelimit.redis;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A command on its way: waiting in the queue of its key, in flight, or being delivered. It ends exactly once:
 * with a reply, with an error, or because its caller cancels it.
 *
 * <p>The queue owns the fields that are not final until the command ends; then the executor owns them.
 */
abstract class PendingCommand implements Runnable {

    /** Not sent yet. */
    private static final int CREATED = 0;

    /** In the queue: nothing travels yet. */
    private static final int PENDING = 1;

    /** In flight. */
    private static final int SENT = 2;

    /** In flight, and its caller left: the reply goes to {@link #unused}. */
    private static final int LEFT = 3;

    /** A reply or an error is being delivered, or was. */
    private static final int ENDED = 4;

    /** Its caller left before anything was sent. */
    private static final int CANCELLED = 5;

    private static final AtomicIntegerFieldUpdater<PendingCommand> STATE =
            AtomicIntegerFieldUpdater.newUpdater(PendingCommand.class, "state");

    final LimiterCommands limiter;
    final String key;
    final ScriptPolicy policy;
    final Command command;
    final @Nullable Executor executor;

    /** The key's name in Redis. */
    final String name;

    private volatile int state = CREATED;

    /** When it has to end, on the clock of its limiter. */
    long deadlineNanos;

    /** The commands that are decided together with this one; null if it is decided alone. */
    @Nullable
    CommandGroup group;

    /** The call that it travels in. */
    @Nullable
    ScriptCall call;

    private @Nullable CommandReply reply;
    private @Nullable Throwable error;

    /**
     * @param key the key as the caller names it
     * @param executor where {@link #succeeded} and {@link #failed} run, see {@link
     *     LimiterCommands#executorFor}; null for the thread that brings the reply, mostly the connection's:
     *     only for code of ours that neither blocks nor takes long
     */
    PendingCommand(
            LimiterCommands limiter, String key, ScriptPolicy policy, Command command, @Nullable Executor executor) {
        this.limiter = limiter;
        this.key = key;
        this.name = limiter.keys().named(key, policy);
        this.policy = policy;
        this.command = command;
        this.executor = executor;
    }

    /** Runs on the executor, once, unless {@link #failed} does or the caller cancelled. */
    protected abstract void succeeded(CommandReply reply);

    /**
     * Runs on the executor, once, unless {@link #succeeded} does or the caller cancelled. See {@link
     * LimiterCommands#send}.
     */
    protected abstract void failed(Throwable error);

    /**
     * The caller cancelled and the script ran: what it debited may be refunded. Runs on the thread that
     * brings the reply.
     */
    protected void unused(CommandReply reply) {}

    /**
     * The script ran, and the reply came after the deadline. Runs on the thread that brings the reply, or on
     * the one that watches the deadline.
     */
    protected void late(CommandReply reply) {}

    /**
     * The caller cancels. A command that is not in flight never will be. Any thread, any number
     * of calls.
     */
    public void cancel() {
        if (moves(PENDING, CANCELLED)) {
            limiter.ended();
            droppedFromQueue();
        } else if (!moves(SENT, LEFT)) {
            moves(CREATED, CANCELLED);
        }
    }

    /** Ended or cancelled. A command whose caller left is not while it is in flight. */
    final boolean isEnded() {
        return state >= ENDED;
    }

    /** False if it was cancelled before, or begun. */
    final boolean begin() {
        return moves(CREATED, PENDING);
    }

    /** False if there is nothing to send: it was cancelled, or its deadline passed. */
    final boolean markSent(ScriptCall call) {
        this.call = call;
        return moves(PENDING, SENT);
    }

    /** It ended while it waited: nothing of it was sent. */
    protected void droppedFromQueue() {}

    /** The reply came, on any thread; {@link #run} has to deliver it if this is true. */
    final boolean end(CommandReply reply) {
        if (moves(SENT, ENDED)) {
            this.reply = reply;
            return true;
        }
        if (moves(LEFT, ENDED)) {
            unused(reply);
            limiter.ended();
        } else {
            late(reply);
        }
        return false;
    }

    /** It failed, on any thread; {@link #run} has to deliver that if this is true. */
    final boolean end(Throwable error) {
        if (moves(PENDING, ENDED) || moves(SENT, ENDED)) {
            this.error = error;
            return true;
        }
        if (moves(LEFT, ENDED)) {
            limiter.ended();
        }
        return false;
    }

    /** Its deadline passed. The error is one if it is in flight, and another if it is not. */
    final void expire(RedisUnavailableException unsent) {
        if (moves(PENDING, ENDED)) {
            this.error = unsent;
            droppedFromQueue();
            ReplyExecutor.deliver(this);
            return;
        }
        ScriptCall inFlight = call;
        if (inFlight != null && state < ENDED) {
            inFlight.expire(this);
        }
    }

    private boolean moves(int from, int to) {
        return state == from && STATE.compareAndSet(this, from, to);
    }

    /** Delivers. */
    @Override
    public final void run() {
        CommandReply delivered = reply;
        Throwable failure = error;
        reply = null;
        error = null;
        try {
            if (delivered != null) {
                succeeded(delivered);
            } else if (failure != null) {
                failed(failure);
            }
        } finally {
            limiter.ended();
        }
    }
}

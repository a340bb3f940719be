package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitPolicy;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * One take and who asked for it: what is known in this process is answered at once, else a call brings the answer. Whoever
 * leaves before the answer comes gives back what it took; before the call is sent nothing is taken.
 *
 * <p>One object is the subscription, the place in a pipe, the place in a call and the task that delivers, one after the other, so
 * that an ask costs little. Whoever has it owns the fields that are not final: the pipe's worker, the thread that brings the
 * answer, the one that delivers; each hands it on through a queue.
 */
final class TakeAsk implements TakePipe.Asked, Subscription, Scannable, Runnable {

    /** Nothing requested yet. */
    private static final int SUBSCRIBED = 0;

    /** Asking. Whoever leaves this state has the say: the answer, or the subscriber who leaves. */
    private static final int ASKED = 1;

    private static final int DONE = 2;

    /** The subscriber left. */
    private static final int CANCELLED = 3;

    private static final AtomicIntegerFieldUpdater<TakeAsk> PHASE =
            AtomicIntegerFieldUpdater.newUpdater(TakeAsk.class, "phase");

    private final RedisState state;
    private final String key;
    private final RateLimitPolicy policy;
    private final long permits;
    private final CoreSubscriber<? super Decision> actual;
    private volatile int phase = SUBSCRIBED;

    private @Nullable TakeAsk next;

    private long askedNanos;

    private @Nullable CallerThread caller;

    /** What is delivered: a decision, an error, or the run that it travelled in, which knows what became of all. */
    private @Nullable Object outcome;

    /** Where it is claimed. */
    private @Nullable Level claim;

    /** In its run. */
    private int place;

    TakeAsk(
            RedisState state,
            String key,
            RateLimitPolicy policy,
            long permits,
            CoreSubscriber<? super Decision> actual) {
        this.state = state;
        this.key = key;
        this.policy = policy;
        this.permits = permits;
        this.actual = actual;
    }

    RedisState state() {
        return state;
    }

    String key() {
        return key;
    }

    RateLimitPolicy policy() {
        return policy;
    }

    long permits() {
        return permits;
    }

    /** Nobody waits for the answer. */
    boolean isLeft() {
        return phase == CANCELLED;
    }

    @Nullable
    TakeAsk next() {
        return next;
    }

    void followBy(@Nullable TakeAsk ask) {
        next = ask;
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n) && PHASE.compareAndSet(this, SUBSCRIBED, ASKED)) {
            try {
                state.take(this);
            } catch (LinkageError brokenClassPath) {
                fail(brokenClassPath);
            } catch (Throwable thrown) {
                Exceptions.throwIfFatal(thrown);
                fail(thrown);
            }
        }
    }

    @Override
    public void cancel() {
        if (!PHASE.compareAndSet(this, SUBSCRIBED, CANCELLED)) {
            PHASE.compareAndSet(this, ASKED, CANCELLED);
        }
    }

    /** Left with a pipe. */
    void askedAt(long nanos) {
        askedNanos = nanos;
        caller = RateLimitContext.callerThread(actual.currentContext());
    }

    /** Where the answer is wanted; null if anywhere but on the connection's thread. */
    @Nullable
    CallerThread caller() {
        return caller;
    }

    long askedNanos() {
        return askedNanos;
    }

    /** Counts among those who are ahead of whoever asks next. */
    void claim(@Nullable Level level) {
        if (level != null) {
            claim = level;
            level.claim(permits);
        }
    }

    /** Decided, or will not be by a short call. */
    void release() {
        Level level = claim;
        if (level != null) {
            claim = null;
            level.release(permits);
        }
    }

    boolean isClaimed() {
        return claim != null;
    }

    /** Whether the thread that asked will tell; if so it owns this from now on. */
    boolean isTakenOver() {
        CallerThread thread = caller;
        return thread != null && Strays.takes(thread, this);
    }

    /** Travels in a run, unless it fails. */
    void joins(TakeRun run, int place) {
        this.outcome = run;
        this.place = place;
    }

    /** Delivered later. */
    void failed(Throwable error) {
        release();
        this.outcome = error;
    }

    /** Brings what {@code source} answers. It goes on when the subscriber leaves, for what may have been done must be known. */
    void follow(Mono<Decision> source) {
        source.subscribe(new Follower(this));
    }

    /** Delivers. */
    @Override
    public void run() {
        Object told = outcome;
        // Whoever keeps its subscription must not keep all that travelled with it.
        outcome = null;
        if (told instanceof TakeRun run) {
            settle(run.decide(this, place));
        } else if (told instanceof Decision decision) {
            succeed(decision);
        } else if (told instanceof RedisUnavailableException) {
            state.unavailability().decide(key, policy, permits).subscribe(this::succeed, this::fail);
        } else if (told instanceof Throwable error) {
            fail(error);
        }
    }

    private void settle(Decision decided) {
        Decision told = state.shortcuts().tookAlone(key, policy, decided);
        if (told == null) {
            state.askWhole(this);
        } else {
            succeed(told);
        }
    }

    /** On this thread. */
    void succeed(Decision value) {
        if (PHASE.compareAndSet(this, ASKED, DONE)) {
            actual.onNext(value);
            actual.onComplete();
        } else {
            state.giveBackUnused(value);
        }
    }

    /** On this thread. */
    void fail(Throwable error) {
        if (PHASE.compareAndSet(this, ASKED, DONE)) {
            actual.onError(error);
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr attribute) {
        if (attribute == Attr.ACTUAL) {
            return actual;
        }
        if (attribute == Attr.CANCELLED) {
            return phase == CANCELLED;
        }
        if (attribute == Attr.TERMINATED) {
            return phase == DONE;
        }
        return attribute == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : null;
    }

    /** Not with the subscriber's Context: whose discard hooks are not for what is under way here. */
    private record Follower(TakeAsk ask) implements CoreSubscriber<Decision> {

        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Decision decision) {
            ask.outcome = decision;
            ask.state.deliver(ask);
        }

        @Override
        public void onError(Throwable error) {
            ask.outcome = error;
            ask.state.deliver(ask);
        }

        @Override
        public void onComplete() {}
    }
}

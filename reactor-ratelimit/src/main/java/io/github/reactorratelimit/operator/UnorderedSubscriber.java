package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;

/**
 * Limits elements: those of other keys overtake those that wait, those of one key leave in the order they
 * arrived.
 *
 * <p>At most {@code maxHeld} elements, and no more than downstream requested, are requested, held or being
 * emitted: so there is demand for every element, whenever its decision comes. Every {@linkplain Held
 * held element} requests its permits immediately. Decisions come on any thread: the thread that raises {@code
 * emitting} from 0 signals downstream until it is 0 again, and the others leave their element in {@code
 * ready}. More is requested of upstream outside of that, so that an element that arrives at once and has its
 * permits passes directly.
 */
final class UnorderedSubscriber<T> extends ElementSubscriber<T> {

    private final int maxHeld;

    /** Every element that is held, so that a cancel or an error reaches all of them. */
    private final Set<Held> holding = ConcurrentHashMap.newKeySet();

    /**
     * Written before the held elements are discarded: either that finds an element which is added meanwhile,
     * or the thread that adds it reads this.
     */
    private volatile boolean discarding;

    /** The last element of each key that was held. Used by the thread that upstream signals on. */
    private final Map<String, Held> last = new HashMap<>();

    /** Elements to emit, those of one key in order. Polled by the thread that emits. */
    private final Queue<Held> ready = Queues.<Held>unboundedMultiproducer().get();

    private final AtomicInteger emitting = new AtomicInteger();
    private final AtomicInteger requesting = new AtomicInteger();

    /** Elements requested, held or being emitted. */
    private final AtomicInteger outstanding = new AtomicInteger();

    private final AtomicInteger held = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> error = new AtomicReference<>();
    private volatile boolean completed;
    private volatile boolean cancelled;

    /** Terminal signal sent; written by the thread that emits. */
    private volatile boolean ended;

    UnorderedSubscriber(CoreSubscriber<? super T> actual, SubscriptionTerms<T> terms, Denial<T> denial, int maxHeld) {
        super(actual, terms, denial);
        this.maxHeld = maxHeld;
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n)) {
            addRequested(n);
            requestMore();
        }
    }

    /** Requests as much as may be held and is wanted: one thread at a time, the others add a round. */
    private void requestMore() {
        if (requesting.getAndIncrement() != 0) {
            return;
        }
        int rounds = 1;
        do {
            // The demand is lowered before this count is, so the difference is never too large.
            int pending = outstanding.get();
            int missing = (int) Math.min(maxHeld, requested()) - pending;
            if (missing > 0) {
                outstanding.addAndGet(missing);
                upstream().request(missing);
            }
            rounds = requesting.addAndGet(-rounds);
        } while (rounds != 0);
    }

    @Override
    public void onNext(T element) {
        if (completed && !cancelled) {
            Operators.onNextDropped(element, currentContext());
            return;
        }
        if (isOver()) {
            discard(element);
            return;
        }
        boolean emits = emitting.compareAndSet(0, 1);
        limit(element, emits);
        if (emits) {
            emitReady();
        }
        requestMore();
    }

    private void limit(T element, boolean emits) {
        String key;
        Mono<Decision> answer = null;
        try {
            key = terms.keyOf(element);
            long cost = terms.costOf(element);
            if (!(emits && overtakesNone(key)) || terms.decideNow(key, cost) == null) {
                answer = terms.acquire(key, cost, currentContext());
            }
        } catch (Throwable failure) {
            notAsked(element, failure);
            return;
        }
        if (answer == null) {
            emit(element);
        } else {
            hold(element, key, answer);
        }
    }

    /** For the thread that emits. An element that went ahead is in {@code ready} or was emitted. */
    private boolean overtakesNone(String key) {
        Held before = last.get(key);
        return !isOver() && (before == null || before.wentAhead()) && ready.isEmpty();
    }

    private boolean isOver() {
        return cancelled || ended || error.get() != null;
    }

    @Override
    void emit(T element) {
        actual.onNext(element);
        countEmitted();
        outstanding.decrementAndGet();
    }

    @Override
    void skip() {
        outstanding.decrementAndGet();
    }

    private void hold(T element, String key, Mono<Decision> answer) {
        if (held.incrementAndGet() > maxHeld) {
            discard(element);
            upstream().cancel();
            fail(Exceptions.failWithOverflow("the source emitted more than was requested"));
            return;
        }
        Held waiting = new Held(element, answer);
        holding.add(waiting);
        if (discarding) {
            holding.remove(waiting);
            waiting.dispose();
            return;
        }
        waiting.queueBehind(last.put(key, waiting));
        // At most maxHeld of them wait, so each sweep removes at least half: constant cost per element.
        if (last.size() > 2L * maxHeld) {
            last.values().removeIf(Held::wentAhead);
        }
        waiting.request.send();
    }

    /** Keys whose last element is remembered. */
    int keys() {
        return last.size();
    }

    private void discardAll() {
        discarding = true;
        holding.forEach(Held::dispose);
        holding.clear();
    }

    /** The key or cost function failed, or gave what the limiter refuses: nothing was taken. */
    private void notAsked(T element, Throwable failure) {
        Throwable mapped = Operators.onNextError(element, failure, currentContext(), upstream());
        discard(element);
        if (mapped == null) {
            outstanding.decrementAndGet();
        } else {
            fail(mapped);
        }
    }

    @Override
    void fail(Throwable failure) {
        if (!endsWith(failure)) {
            dropUnlessFromLimiter(failure);
        }
    }

    /** False if the stream is over already, or about to end with another error. */
    private boolean endsWith(Throwable failure) {
        if (cancelled || ended || !error.compareAndSet(null, failure)) {
            return false;
        }
        drain();
        return true;
    }

    @Override
    public void onError(Throwable failure) {
        if (!endsWith(Objects.requireNonNull(failure, "failure"))) {
            Operators.onErrorDropped(failure, currentContext());
        }
    }

    @Override
    public void onComplete() {
        completed = true;
        drain();
    }

    @Override
    public void cancel() {
        if (!cancelled) {
            cancelled = true;
            upstream().cancel();
            discardAll();
        }
    }

    /** Emits what is ready, on this thread or the one that emits already. */
    private void drain() {
        if (emitting.getAndIncrement() == 0) {
            emitReady();
            requestMore();
        }
    }

    /** Lowers {@code emitting} to 0, and on the way does what the others left to do. */
    private void emitReady() {
        int rounds = 1;
        do {
            while (!endIfDue() && settleNext()) {
                // until nothing is ready
            }
            rounds = emitting.addAndGet(-rounds);
        } while (rounds != 0);
    }

    private boolean endIfDue() {
        if (cancelled || ended) {
            return true;
        }
        Throwable failure = error.get();
        if (failure != null) {
            ended = true;
            discardAll();
            actual.onError(failure);
        } else if (completed && held.get() == 0) {
            ended = true;
            actual.onComplete();
        }
        return ended;
    }

    private boolean settleNext() {
        Held next = ready.poll();
        if (next == null) {
            return false;
        }
        if (next.take()) {
            holding.remove(next);
            held.decrementAndGet();
            settle(next.element, next.decision, next.failure);
        }
        return true;
    }

    private void settle(T element, @Nullable Decision decision, @Nullable Throwable failure) {
        if (decision == null) {
            upstream().cancel();
            discard(element);
            fail(Objects.requireNonNull(failure));
        } else if (decision.allowed()) {
            emit(element);
        } else {
            denied(element, decision);
        }
    }

    @Override
    int held() {
        return held.get();
    }

    @Override
    boolean isCancelled() {
        return cancelled;
    }

    @Override
    boolean isEnded() {
        return ended;
    }

    /**
     * One element that waits while others may overtake it. It is ready once two things have happened: its own
     * request was answered, and the element of the same key before it went ahead.
     */
    private final class Held {

        private enum State {
            /** No answer yet. */
            WAITING,
            /** Answered; {@code decision} or {@code failure} is set. */
            ANSWERED,
            /** Taken or discarded. The thread that moved here from another state owns the element and its permits. */
            GONE
        }

        /** Follows an element that went ahead: no other can queue behind it any more. */
        private static final Object WENT_AHEAD = new Object();

        /** For the owner, as are the decision, null if the limiter failed, and the failure, null if it answered. */
        final T element;

        @Nullable
        Decision decision;

        @Nullable
        Throwable failure;

        final PendingRequest<Decision> request;
        private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
        private final AtomicInteger missing = new AtomicInteger(2);
        private final AtomicReference<@Nullable Object> follower = new AtomicReference<>();

        Held(T element, Mono<Decision> answer) {
            this.element = element;
            this.request = new PendingRequest<>(actual, answer, this::answered, this::failed);
        }

        /**
         * Queues behind the last element of the key, if there is one that did not go ahead yet. Called once,
         * before the permits are requested.
         */
        void queueBehind(@Nullable Held before) {
            if (before == null || !before.follower.compareAndSet(null, this)) {
                missing.decrementAndGet();
            }
        }

        boolean wentAhead() {
            return follower.get() == WENT_AHEAD;
        }

        private void answered(Decision answer) {
            decision = answer;
            if (state.compareAndSet(State.WAITING, State.ANSWERED)) {
                arrive();
            } else {
                terms.refund(answer);
            }
        }

        private boolean failed(Throwable cause) {
            failure = cause;
            boolean waited = state.compareAndSet(State.WAITING, State.ANSWERED);
            if (waited) {
                arrive();
            }
            return waited;
        }

        @SuppressWarnings("unchecked")
        private void arrive() {
            Held next = this;
            while (next != null && next.missing.decrementAndGet() == 0) {
                ready.add(next);
                next = (Held) next.follower.getAndSet(WENT_AHEAD);
            }
            drain();
        }

        /** Makes the caller the owner of an answered element; false if it was discarded. */
        boolean take() {
            return state.compareAndSet(State.ANSWERED, State.GONE);
        }

        /** Leaves the queue, discards the element, refunds its permits. */
        void dispose() {
            State left = state.getAndSet(State.GONE);
            if (left == State.GONE) {
                return;
            }
            request.cancel();
            discard(element);
            if (left == State.ANSWERED && decision != null) {
                terms.refund(decision);
            }
        }
    }
}

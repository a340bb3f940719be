package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import java.util.Objects;
import java.util.Queue;
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
 * emitted: so there is demand for every element, whenever its decision comes. Every {@linkplain HeldElement
 * held element} requests its permits immediately. Decisions come on any thread: the thread that raises {@code
 * emitting} from 0 signals downstream until it is 0 again, and the others leave their element in {@code
 * ready}. More is requested of upstream outside of that, so that an element that arrives at once and has its
 * permits passes directly.
 */
final class UnorderedSubscriber<T> extends ElementSubscriber<T> implements HeldElement.ReadyQueue<T> {

    private final int maxHeld;

    private final HeldElements<T> holding = new HeldElements<>();

    private final KeyOrder<T> order;

    /** Elements to emit, those of one key in order. Polled by the thread that emits. */
    private final Queue<HeldElement<T>> ready =
            Queues.<HeldElement<T>>unboundedMultiproducer().get();

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
        this.order = new KeyOrder<>(maxHeld);
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
        return !isOver() && order.isFree(key) && ready.isEmpty();
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
        HeldElement<T> waiting = new HeldElement<>(this, this, element, answer);
        if (holding.add(waiting)) {
            order.join(key, waiting);
            waiting.send();
        }
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
            holding.dispose();
        }
    }

    @Override
    public void add(HeldElement<T> element) {
        ready.add(element);
    }

    @Override
    public void drain() {
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
            holding.dispose();
            actual.onError(failure);
        } else if (completed && held.get() == 0) {
            ended = true;
            actual.onComplete();
        }
        return ended;
    }

    private boolean settleNext() {
        HeldElement<T> next = ready.poll();
        if (next == null) {
            return false;
        }
        if (next.take()) {
            holding.remove(next);
            held.decrementAndGet();
            settle(next.element(), next);
        }
        return true;
    }

    private void settle(T element, HeldElement<T> answered) {
        Decision decision = answered.decision();
        if (decision == null) {
            upstream().cancel();
            discard(element);
            fail(Objects.requireNonNull(answered.failure()));
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
}

package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.PermitRun;
import io.github.reactorratelimit.Verdict;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Fuseable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * Limits the elements of a source that can be polled (synchronous fusion): a range, an array, a
 * collection. Not what runs code of the user: it is polled on any thread.
 *
 * <p>Requests, answers of the limiter and the cancel come on any thread. Whoever raises {@code rounds} from
 * 0 works until it is 0 again: only that thread polls, signals downstream and touches what is not volatile;
 * the others leave a round to do. An element is polled only when downstream wants it, and one at most is held
 * while it waits.
 *
 * <p>Elements that all have one key and cost share a {@link PermitRun}. It is ended whenever this thread
 * stops polling, for whatever reason, so permits are taken ahead only for elements that can be delivered
 * right now, and what they did not use goes back.
 */
final class PolledElements<T> extends ElementSubscription<T> {

    private final Fuseable.QueueSubscription<T> queue;
    private final AtomicInteger rounds = new AtomicInteger();
    private volatile boolean cancelled;
    private volatile boolean ended;

    /** The answer for the held element; at most one of the two comes. */
    private volatile @Nullable Decision decision;

    private volatile @Nullable Throwable failure;

    /** Null before the first element, and where elements differ. */
    private @Nullable PermitRun run;

    /** Whether the last element was denied at once: the next will be too, so it is not tried in the run first. */
    private boolean denying;

    private @Nullable T held;
    private @Nullable Turn<Decision> turn;
    private @Nullable Mono<Decision> question;

    PolledElements(
            CoreSubscriber<? super T> actual, Asking<T> asking, Denial<T> denial, Fuseable.QueueSubscription<T> queue) {
        super(actual, asking, denial);
        this.queue = queue;
        setUpstream(queue);
    }

    @Override
    public void request(long n) {
        if (Operators.validate(n)) {
            addRequested(n);
            work();
        }
    }

    @Override
    public void cancel() {
        if (!cancelled) {
            cancelled = true;
            if (!ended) {
                queue.cancel();
            }
            work();
        }
    }

    private void answered(Decision answer) {
        decision = answer;
        work();
    }

    private boolean failed(Throwable cause) {
        if (cancelled) {
            return false;
        }
        failure = cause;
        work();
        return true;
    }

    private void work() {
        if (rounds.getAndUpdate(PolledElements::oneMore) != 0) {
            return;
        }
        int done = 1;
        do {
            if (cancelled) {
                leave();
            } else if (!ended && settleHeld()) {
                pollWhileWanted();
            }
            done = rounds.addAndGet(-done);
        } while (done != 0);
    }

    /** Requests from within {@code onNext} add up as long as elements come without a pause. */
    private static int oneMore(int rounds) {
        return rounds == Integer.MAX_VALUE ? rounds : rounds + 1;
    }

    private void leave() {
        T element = held;
        if (element != null) {
            held = null;
            Objects.requireNonNull(turn).cancel();
            discard(element);
        }
        Decision unused = decision;
        if (unused != null) {
            decision = null;
            asking.giveBack(unused);
        }
        Throwable late = failure;
        if (late != null) {
            failure = null;
            dropUnlessFromLimiter(late);
        }
    }

    /** Whether the next element may be polled: none is held, or it was dealt with just now. */
    private boolean settleHeld() {
        T element = held;
        if (element == null) {
            return true;
        }
        Decision answer = decision;
        Throwable cause = failure;
        if (answer == null && cause == null) {
            return false;
        }
        held = null;
        decision = null;
        failure = null;
        if (cause != null) {
            queue.cancel();
            discard(element);
            fail(cause);
        } else if (answer != null) {
            countEmitted(settle(element, answer) ? 1 : 0);
        }
        return !ended;
    }

    private void pollWhileWanted() {
        long wanted = requested();
        long emitted = 0;
        try {
            while (emitted != wanted && held == null && !isOver()) {
                T element = pollOrEnd();
                if (element != null && pass(element, wanted - emitted)) {
                    emitted++;
                    if (emitted == wanted) {
                        wanted = requested();
                    }
                }
            }
        } finally {
            if (run != null) {
                run.end();
            }
        }
        long unmet = countEmitted(emitted);
        if (turn != null && held != null) {
            turn.ask(Objects.requireNonNull(question));
        } else if (unmet == 0 && !isOver()) {
            endIfEmpty();
        }
    }

    private boolean isOver() {
        return cancelled || ended;
    }

    /** The next element, null if there is none for downstream; the end of the source is passed on. */
    private @Nullable T pollOrEnd() {
        T element;
        try {
            element = queue.poll();
        } catch (Throwable thrown) {
            fail(Operators.onOperatorError(queue, thrown, currentContext()));
            return null;
        }
        if (cancelled) {
            if (element != null) {
                discard(element);
            }
            return null;
        }
        if (element == null) {
            ended = true;
            actual.onComplete();
        }
        return element;
    }

    /** Nothing more is wanted, but the end needs no demand. It is polled all the same: that is how those before hear of it. */
    private void endIfEmpty() {
        boolean empty;
        try {
            empty = queue.isEmpty();
        } catch (Throwable thrown) {
            fail(Operators.onOperatorError(queue, thrown, currentContext()));
            return;
        }
        if (empty) {
            pollOrEnd();
        }
    }

    /** Whether something was emitted; if not, the element is held, or was dealt with. */
    private boolean pass(T element, long most) {
        Verdict verdict;
        try {
            verdict = decide(element, most);
        } catch (Throwable refused) {
            notAsked(element, refused);
            return false;
        }
        if (verdict == Verdict.TAKEN) {
            actual.onNext(element);
            return true;
        }
        if (verdict instanceof Decision denied) {
            return settle(element, denied);
        }
        held = element;
        turn = Turn.of(actual, this::answered, this::failed);
        return false;
    }

    private Verdict decide(T element, long most) {
        if (run == null && asking.isSameForAll()) {
            run = asking.run();
        }
        if (run != null && !denying && run.tryNext(most)) {
            return Verdict.TAKEN;
        }
        String key = asking.keyOf(element);
        long cost = asking.costOf(element);
        Verdict verdict = run != null && asking.waits() ? Verdict.UNKNOWN : asking.decideNow(key, cost);
        denying = verdict instanceof Decision;
        if (verdict == Verdict.UNKNOWN) {
            question = asking.acquire(key, cost);
        }
        return verdict;
    }

    /** The key or cost function failed, or gave what the limiter refuses: nothing was taken. */
    private void notAsked(T element, Throwable refused) {
        Throwable mapped = Operators.onNextError(element, refused, currentContext(), queue);
        discard(element);
        if (mapped != null) {
            fail(mapped);
        }
    }

    /** Whether something was emitted. */
    private boolean settle(T element, Decision answer) {
        if (answer.allowed()) {
            actual.onNext(element);
            return true;
        }
        T other;
        try {
            other = denial.insteadOf(element, answer);
        } catch (Throwable thrown) {
            Throwable mapped = Operators.onOperatorError(queue, thrown, element, currentContext());
            discard(element);
            fail(mapped);
            return false;
        }
        if (other == null) {
            discard(element);
            return false;
        }
        discardUnlessSame(element, other);
        actual.onNext(other);
        return true;
    }

    /** Ends with an error; upstream is cancelled already, or has failed. */
    private void fail(Throwable cause) {
        if (cancelled) {
            dropUnlessFromLimiter(cause);
        } else {
            ended = true;
            actual.onError(cause);
        }
    }

    @Override
    int held() {
        return held == null ? 0 : 1;
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

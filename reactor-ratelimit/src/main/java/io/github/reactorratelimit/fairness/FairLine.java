package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.waiting.SerialWorker;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/**
 * The line in front of one key of a limiter. Calls stand here; at the limiter stand the line's own {@link Asks}, which belong to
 * nobody. Who leaves is chosen when a permit comes, from all who wait then: that is what makes priorities and shares work, since the
 * limiter itself serves in order of arrival.
 *
 * <h2>Why it is right</h2>
 *
 * <p><b>One owner.</b> Calls that join or leave, answers of the limiter and the alarm are left in mailboxes, and {@link
 * SerialWorker} lets one thread at a time work them off. The queue, the asks and the alarm belong to that thread. It calls the limiter
 * (which may answer on the spot: that answer goes to the mailbox too, and is worked off in the next round, not in the midst of this one) but never a
 * subscriber: those are told by {@link Deliveries}, or by themselves if the answer was there before {@code request} returned.
 *
 * <p><b>Never more than the limiter gave.</b> A call is answered by a grant only, a grant answers one call at most, and only one on the same {@link
 * Terms}: what was taken for a small call cannot be spent by a large one, and nothing is put together from parts, which would be
 * spent later than it was counted.
 *
 * <p><b>Nothing is lost.</b> Each grant is owned by exactly one: by the limiter until it is told, by the mailbox, by the owner, by
 * the call once it is claimed. A claim fails if the subscriber left first, and the owner goes on to the next; if nobody is left who asked for as
 * much, it goes back. A subscriber that leaves after the claim and before the delivery gives it back itself. An ask that is no
 * longer wanted is withdrawn: the limiter gives back what it had booked, and what had been told before lies in the mailbox.
 *
 * <p><b>Nobody is forgotten.</b> After each round, if somebody waits, there is an ask under way on the terms of whoever is next, or an
 * alarm at which to ask again. Each answer brings another round.
 *
 * <p><b>Out of turn</b> somebody is served only if costs differ, and another came to be next between a grant and its
 * working off: then the grant goes to the first who asked for as much, who was next when it was made. Virtual time and the classes' accounts are kept
 * for whoever was really served.
 */
final class FairLine extends SerialWorker implements Ask.Listener {

    /** When to ask again where a denial did not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    private static final long MIN_RETRY_NANOS = Duration.ofMillis(1).toNanos();
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    private final RateLimiter limiter;
    private final Scheduler scheduler;
    private final Deliveries deliveries;

    private final Queue<FairCall> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<FairCall> leavers = new ConcurrentLinkedQueue<>();
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();

    /** Calls that wait, those in the mailbox included. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** Calls that were not told yet and have not left, and permits on their way back. */
    private final AtomicInteger pending = new AtomicInteger();

    private final Sinks.Empty<Void> emptied = Sinks.empty();
    private volatile boolean closed;

    /** The owner's, as are the fields below. */
    private final FairQueue queue;

    private final Asks asks;
    private final Alarm alarm;
    private final Outlook outlook;

    /** When to ask again after a denial. */
    private long askAgainAt = Alarm.NEVER;

    private record Answer(Ask ask, Object outcome) {}

    FairLine(
            RateLimiter limiter,
            String key,
            FairQueue queue,
            Duration ahead,
            Scheduler scheduler,
            Scheduler callbacks) {
        this.limiter = limiter;
        this.scheduler = scheduler;
        this.queue = queue;
        this.deliveries = new Deliveries(callbacks);
        this.asks = new Asks(limiter, key, ahead, now(), this);
        this.alarm = new Alarm(scheduler, this::poke);
        this.outlook = new Outlook(limiter, key);
    }

    long now() {
        return scheduler.now(TimeUnit.NANOSECONDS);
    }

    boolean isEmpty() {
        return waiting.get() == 0;
    }

    int size(int rank) {
        return queue.size(rank);
    }

    boolean isClosed() {
        return closed;
    }

    void join(FairCall call) {
        pending.incrementAndGet();
        waiting.incrementAndGet();
        arrivals.offer(call);
        poke();
    }

    void leave(FairCall call) {
        leavers.offer(call);
        poke();
    }

    @Override
    public void answered(Ask ask, Object outcome) {
        answers.offer(new Answer(ask, outcome));
        poke();
    }

    Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            poke();
            deliveries.runIfSchedulerIsGone();
            completeIfEmptied();
            return emptied.asMono();
        });
    }

    RateLimiterClosedException closedException() {
        return new RateLimiterClosedException(limiter.name());
    }

    /** A call was told, or has left, or permits went back. */
    void departed() {
        pending.decrementAndGet();
        completeIfEmptied();
    }

    private void completeIfEmptied() {
        if (closed && pending.get() == 0) {
            emptied.tryEmitEmpty();
        }
    }

    /** For a grant that found nobody. A store that cannot be told counts what is lost. */
    void giveBack(Terms terms, Object granted) {
        pending.incrementAndGet();
        terms.kind().giveBack(limiter, granted).subscribe(done -> {}, failed -> departed(), this::departed);
    }

    @Override
    protected void work() {
        long now = now();
        for (FairCall call = leavers.poll(); call != null; call = leavers.poll()) {
            if (call.linked) {
                queue.remove(call);
                left();
            }
        }
        for (FairCall call = arrivals.poll(); call != null; call = arrivals.poll()) {
            admit(call, now);
        }
        for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
            take(answer, now);
        }
        for (FairCall call = queue.impatient(); call != null && call.notAfter <= now; call = queue.impatient()) {
            deny(call);
        }
        if (closed) {
            failAll(closedException());
        }
        ask(now);
        setAlarm(now);
    }

    private void left() {
        waiting.decrementAndGet();
        departed();
    }

    private void admit(FairCall call, long now) {
        if (!call.isWaiting()) {
            left();
            return;
        }
        if (queue.size() == 0) {
            outlook.begin(now);
        }
        boolean full = queue.isFullFor(call);
        queue.add(call);
        if (full) {
            deny(call);
        }
    }

    private void deny(FairCall call) {
        tell(call, Denials.deny(limiter.policy(), call.terms, outlook.degradation()));
    }

    /** Answers one who waits by something other than a grant. */
    private void tell(FairCall call, Object answer) {
        queue.remove(call);
        waiting.decrementAndGet();
        FairCall.Claim claim = call.claim(answer, false);
        if (claim == FairCall.Claim.TO_DELIVER) {
            deliveries.add(call);
        } else if (claim == FairCall.Claim.TOO_LATE) {
            departed();
        }
    }

    private void failAll(Throwable cause) {
        for (FairCall call = queue.next(); call != null; call = queue.next()) {
            tell(call, cause);
        }
    }

    private void take(Answer answer, long now) {
        asks.ended(answer.ask);
        Terms terms = answer.ask.terms;
        Object outcome = answer.outcome;
        Decision denied = Denials.in(outcome);
        outlook.heard(outcome, now);
        if (denied != null && Denials.isFinal(denied)) {
            tellNextOf(terms, Denials.as(terms, denied));
        } else if (denied != null) {
            askLater(denied, now);
        } else if (outcome instanceof RateLimiterClosedException gone) {
            failAll(gone);
            deliveries.runIfSchedulerIsGone();
        } else if (outcome instanceof Throwable failure) {
            tellNextOf(terms, failure);
        } else {
            asks.granted(now);
            grant(terms, outcome);
        }
    }

    private void tellNextOf(Terms terms, Object answer) {
        FairCall call = queue.nextOf(terms);
        if (call != null) {
            tell(call, answer);
        }
    }

    /** Who would wait however long it takes is denied only because the limiter's own line is full, or its store is away and a share is spent. */
    private void askLater(Decision denied, long now) {
        if (asks.isEmpty()) {
            long retry = denied.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
            askAgainAt = now + Math.max(MIN_RETRY_NANOS, Math.min(retry, MAX_RETRY_NANOS));
        } else {
            asks.denied();
        }
    }

    private void grant(Terms terms, Object granted) {
        for (FairCall call = queue.nextOf(terms); call != null; call = queue.nextOf(terms)) {
            FairCall.Claim claim = call.claim(granted, true);
            if (claim != FairCall.Claim.TOO_LATE) {
                queue.served(call);
                waiting.decrementAndGet();
                if (claim == FairCall.Claim.TO_DELIVER) {
                    deliveries.add(call);
                }
                return;
            }
            queue.remove(call);
            left();
        }
        giveBack(terms, granted);
    }

    private void ask(long now) {
        FairCall next = queue.next();
        if (askAgainAt <= now || next == null) {
            askAgainAt = Alarm.NEVER;
        }
        if (next == null) {
            asks.withdrawDownTo(0);
        } else if (askAgainAt == Alarm.NEVER) {
            asks.adjust(next.terms, queue.size(), queue.isUniform());
        }
    }

    private void setAlarm(long now) {
        FairCall impatient = queue.impatient();
        long at = askAgainAt;
        if (impatient != null) {
            outlook.look(now);
            at = Math.min(at, Math.min(impatient.notAfter, now + Outlook.SILENCE_NANOS));
        }
        try {
            alarm.set(at, now);
        } catch (RejectedExecutionException refused) {
            failAll(
                    scheduler.isDisposed()
                            ? closedException()
                            : new IllegalStateException(
                                    "scheduler must be able to delay tasks, but this one refused: " + scheduler,
                                    refused));
            asks.withdrawDownTo(0);
        }
    }
}

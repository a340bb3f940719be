package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.Settlement;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.util.context.ContextView;

/**
 * A limiter that a test grants by hand: permits are there when {@link #add} put them there, and waiters
 * are signalled on the thread that says so, in any order it likes. Counts what was taken and returned.
 */
final class HandLimiter implements RateLimiter, DirectLimiter {

    private final RateLimitPolicy policy;
    private final List<Waiter> waiters = new ArrayList<>();

    /** All that were granted, in order. */
    final List<HandReservation> reservations = new CopyOnWriteArrayList<>();

    private long available;
    private long taken;
    private long returned;
    private long refundCalls;
    private boolean fastPath = true;
    private boolean hearsCancel = true;

    HandLimiter(RateLimitPolicy policy, long available) {
        this.policy = policy;
        this.available = available;
    }

    static HandLimiter with(long available) {
        return new HandLimiter(TokenBucket.perSecond(1).withBurst(1000), available);
    }

    /** Like a limiter that has to ask a server: nothing is known at once. */
    HandLimiter withoutFastPath() {
        fastPath = false;
        return this;
    }

    /** Like a limiter whose grant is already on its way: cancelling comes too late. */
    HandLimiter deafToCancel() {
        hearsCancel = false;
        return this;
    }

    /** Adds permits, and signals on this thread whoever can go now, first come first served. */
    void add(long permits) {
        synchronized (this) {
            available += permits;
        }
        while (grantNext()) {
            // until the permits or the waiters run out
        }
    }

    private boolean grantNext() {
        Waiter head;
        synchronized (this) {
            if (waiters.isEmpty() || !debit(waiters.get(0).permits)) {
                return false;
            }
            head = waiters.remove(0);
        }
        head.answer(true);
        return true;
    }

    /** Answers the waiter with this index, whatever stands before it. */
    void answer(int index, boolean allowed) {
        Waiter waiter;
        synchronized (this) {
            waiter = waiters.remove(index);
            if (allowed) {
                taken += waiter.permits;
            }
        }
        waiter.answer(allowed);
    }

    /** Grants the waiter with this index, and leaves it to the caller when that reaches it. */
    Runnable grantLater(int index) {
        Waiter waiter;
        synchronized (this) {
            waiter = waiters.remove(index);
            taken += waiter.permits;
        }
        return () -> waiter.answer(true);
    }

    /** Fails every waiter. */
    void fail(Throwable failure) {
        List<Waiter> all;
        synchronized (this) {
            all = List.copyOf(waiters);
            waiters.clear();
        }
        all.forEach(waiter -> waiter.fail(failure));
    }

    synchronized int waiting() {
        return waiters.size();
    }

    synchronized ContextView contextOfWaiter(int index) {
        return waiters.get(index).actual.currentContext();
    }

    /** Permits that were taken and not given back. */
    synchronized long spent() {
        return taken - returned;
    }

    synchronized long refundCalls() {
        return refundCalls;
    }

    private boolean debit(long permits) {
        if (available < permits) {
            return false;
        }
        available -= permits;
        taken += permits;
        return true;
    }

    private synchronized void giveBack(long permits) {
        available += permits;
        returned += permits;
    }

    @Override
    public synchronized @Nullable Decision decideNow(String key, long permits, boolean waits) {
        check(key, permits);
        boolean isTaken = fastPath && !policy.needsRelease() && waiters.isEmpty() && debit(permits);
        return isTaken ? Decision.spent(policy) : null;
    }

    @Override
    public Mono<Decision> decideLater(String key, long permits, long maxWaitNanos, ContextView context) {
        return acquire(key, permits, Duration.ofNanos(maxWaitNanos));
    }

    @Override
    public Mono<Decision> tryAcquire(String key, long permits) {
        return acquire(key, permits, Duration.ZERO);
    }

    @Override
    public Mono<Decision> acquire(String key, long permits, Duration maxWait) {
        check(key, permits);
        return new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Decision> actual) {
                if (permits > policy.capacity()) {
                    Operators.error(actual, new PermitsExceedCapacityException(permits, policy.capacity()));
                    return;
                }
                Waiter waiter = new Waiter(actual, permits, key);
                actual.onSubscribe(waiter);
                boolean allowed;
                synchronized (HandLimiter.this) {
                    allowed = waiters.isEmpty() && debit(permits);
                    if (!allowed && !maxWait.isZero()) {
                        if (!waiter.answered.get()) {
                            waiters.add(waiter);
                        }
                        return;
                    }
                }
                waiter.answer(allowed);
            }
        };
    }

    private static void check(String key, long permits) {
        if (Objects.requireNonNull(key, "key").isEmpty()) {
            throw new IllegalArgumentException("key must not be empty");
        }
        if (permits < 1) {
            throw new IllegalArgumentException("permits must be positive, was " + permits);
        }
    }

    @Override
    public Mono<Void> refund(Decision decision) {
        return Mono.fromRunnable(() -> {
            synchronized (this) {
                refundCalls++;
            }
            decision.debit().filter(Debit::claim).ifPresent(debit -> giveBack(debit.permits()));
        });
    }

    @Override
    public Mono<Lease> acquireLease(String key, long permits, Duration maxWait) {
        return acquire(key, permits, maxWait).map(decision -> {
            if (!decision.allowed()) {
                throw new RateLimitExceededException(decision);
            }
            return new HandLease(decision);
        });
    }

    @Override
    public Mono<Reservation> reserve(String key, long estimate, Duration maxWait) {
        return acquire(key, estimate, maxWait).map(decision -> {
            if (!decision.allowed()) {
                throw new RateLimitExceededException(decision);
            }
            HandReservation reservation = new HandReservation(decision);
            reservations.add(reservation);
            return reservation;
        });
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy policy) {
        throw new UnsupportedOperationException("changePolicy");
    }

    @Override
    public RateLimitPolicy policy() {
        return policy;
    }

    @Override
    public String name() {
        return "hand";
    }

    @Override
    public Mono<Decision> peek(String key, long permits) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Mono<Void> reset(String key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Mono<Void> pause(String key, Duration duration) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, Duration duration) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Mono<Void> close() {
        return Mono.empty();
    }

    static HandLimiter concurrency(long max) {
        return new HandLimiter(ConcurrencyLimit.of(max), max);
    }

    private final class HandLease implements Lease {

        private final Decision decision;

        HandLease(Decision decision) {
            this.decision = decision;
        }

        @Override
        public Decision decision() {
            return decision;
        }

        @Override
        public Mono<Void> release() {
            return refund(decision);
        }
    }

    /** Remembers what it is told; what accrues is charged when the test says so. */
    static final class HandReservation implements Reservation {

        final List<Long> accrued = new CopyOnWriteArrayList<>();
        final List<Long> settled = new CopyOnWriteArrayList<>();
        private final List<Sinks.Empty<Void>> charging = new CopyOnWriteArrayList<>();
        private final Decision decision;
        boolean chargesAtOnce = true;

        HandReservation(Decision decision) {
            this.decision = decision;
        }

        void charged() {
            charging.remove(0).tryEmitEmpty();
        }

        @Override
        public Decision decision() {
            return decision;
        }

        @Override
        public Mono<Void> accrue(long soFar) {
            return Mono.defer(() -> {
                accrued.add(soFar);
                if (chargesAtOnce) {
                    return Mono.empty();
                }
                Sinks.Empty<Void> sink = Sinks.empty();
                charging.add(sink);
                return sink.asMono();
            });
        }

        @Override
        public Mono<Settlement> settle(long actual) {
            return Mono.fromSupplier(() -> {
                settled.add(actual);
                return new Settlement(estimate(), actual, 0, settled.size() > 1);
            });
        }
    }

    private final class Waiter implements Subscription {

        private final CoreSubscriber<? super Decision> actual;
        private final long permits;
        private final String key;
        private final AtomicBoolean answered = new AtomicBoolean();

        Waiter(CoreSubscriber<? super Decision> actual, long permits, String key) {
            this.actual = actual;
            this.permits = permits;
            this.key = key;
        }

        void answer(boolean allowed) {
            Decision decision = allowed
                    ? Decision.allow(
                            policy, 0, 0, Decision.UNKNOWN, new Debit(HandLimiter.this, key, policy, permits, 0))
                    : Decision.deny(policy, permits, 0, 0, 1);
            if (answered.compareAndSet(false, true)) {
                actual.onNext(decision);
                actual.onComplete();
            } else if (allowed) {
                giveBack(permits);
            }
        }

        void fail(Throwable failure) {
            if (answered.compareAndSet(false, true)) {
                actual.onError(failure);
            }
        }

        @Override
        public void request(long n) {}

        @Override
        public void cancel() {
            if (hearsCancel && answered.compareAndSet(false, true)) {
                synchronized (HandLimiter.this) {
                    for (Iterator<Waiter> each = waiters.iterator(); each.hasNext(); ) {
                        if (each.next() == this) {
                            each.remove();
                        }
                    }
                }
            }
        }
    }
}

package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Shares one limit between those who wait for it: classes of calls, one before the other, and inside a class tenants by their
 * weight. The limit is one key of a {@link RateLimiter}, of any policy and in any store.
 *
 * <pre>{@code
 * FairShare payments = FairShare.over(limiter, "payments")
 *         .classes("interactive", "batch")
 *         .weight("gold", 3)
 *         .build();
 *
 * call.transform(limitRate(payments.limiter("interactive"), spec -> spec.key("gold")))
 * payments.acquire("gold", "batch", 1, Duration.ofSeconds(30))
 * }</pre>
 *
 * <p><b>Who is next</b> is decided when a permit comes, not when a call arrives.
 *
 * <ul>
 *   <li>The first class goes before the others. A class further down still gets one permit in ten while it waits ({@link
 *       FairShareBuilder#lowerClassesGetOneIn}), so that it moves on whatever the others do; up to nine calls in a row wait for no lower class.
 *   <li>Inside a class tenants get permits by their weights, as far as they want them. Who was away has saved up nothing and owes nothing.
 *   <li>Inside a tenant and class: in order of arrival.
 * </ul>
 *
 * <p>A call leaves at once when it is cancelled, and those behind move up. How long a call will wait is not known when it comes, since others may come
 * and go first: it is denied when its {@code maxWait} or the {@linkplain RateLimitContext#deadline deadline} in its Context is over, at no cost, or at once
 * if its tenant or its class has too many waiting. What can never be allowed fails at once. Who waits in vain because the store of the
 * limiter is away is denied with the {@linkplain Decision#degraded() mark} of that.
 *
 * <p>The order holds within this instance; instances that share a limiter in Redis get slots as they ask for them. Others that use the same key
 * of the limiter directly stand in line with this as a whole. Safe for any thread; nothing blocks.
 */
public final class FairShare implements Disposable {

    private final List<String> classes;
    private final FairQueue order;
    private final FairCalls calls;

    FairShare(List<String> classes, FairQueue order, FairCalls calls) {
        this.classes = classes;
        this.order = order;
        this.calls = calls;
    }

    /**
     * Starts building one in front of a key of a limiter. There should be one for that key in this process.
     *
     * @throws IllegalArgumentException if the key is empty
     */
    public static FairShareBuilder over(RateLimiter limiter, String key) {
        return new FairShareBuilder(limiter, key);
    }

    /**
     * Waits for permits, at most {@code maxWait}: zero never waits. Denied, at no cost, as said above.
     *
     * @param tenant whose call
     * @param callClass one of the {@linkplain FairShareBuilder#classes classes}
     * @throws IllegalArgumentException if there is no such class, permits are below 1 or above 2^40, the tenant is empty or the wait negative
     * @throws IllegalStateException if the policy is a {@code ConcurrencyLimit}, whose permits must be released: use {@link #limiter(String)} with
     *     {@code limitRate} or {@code acquireLease}
     */
    public Mono<Decision> acquire(String tenant, String callClass, long permits, Duration maxWait) {
        return limiter(callClass).acquire(tenant, permits, maxWait);
    }

    /**
     * One class, as a limiter whose keys are the tenants: for {@code limitRate} and whatever else takes a limiter.
     *
     * <p>All tenants have one limit, and so {@code peek}, {@code pause}, {@code reset} and {@code changePolicy} mean that of all. {@code tryAcquire} never
     * waits and never overtakes: it is denied while there are waiters, of any class. A key cannot have an override. {@code close}
     * closes the whole of this, not the limiter behind it.
     *
     * @throws IllegalArgumentException if there is no such class
     */
    public RateLimiter limiter(String callClass) {
        int rank = rankOf(callClass);
        return calls.limiter(context -> rank, true);
    }

    /**
     * The class of each subscriber, from its Reactor Context, as a limiter whose keys are the tenants; see {@link
     * #limiter(String)}. A class that there is not is an {@link IllegalArgumentException}, signalled.
     */
    public RateLimiter limiterFromContext(Function<? super ContextView, String> callClass) {
        Objects.requireNonNull(callClass, "callClass");
        return calls.limiter(context -> rankOf(callClass.apply(context)), false);
    }

    /** Calls of one class that wait now; for a gauge. */
    public int queued(String callClass) {
        return order.size(rankOf(callClass));
    }

    /** Calls that wait now. */
    public int queued() {
        int sum = 0;
        for (int rank = 0; rank < classes.size(); rank++) {
            sum += order.size(rank);
        }
        return sum;
    }

    /** The classes, the first before the others. */
    public List<String> classes() {
        return classes;
    }

    /**
     * Ends every wait with {@code RateLimiterClosedException}, and completes when all waiters were signalled. Does not close the limiter
     * behind it.
     */
    public Mono<Void> close() {
        return calls.close();
    }

    @Override
    public void dispose() {
        close().subscribe();
    }

    @Override
    public boolean isDisposed() {
        return calls.isClosed();
    }

    @Override
    public String toString() {
        return "FairShare of " + calls.limiter() + " between " + classes;
    }

    private int rankOf(String callClass) {
        int rank = classes.indexOf(Objects.requireNonNull(callClass, "callClass"));
        if (rank < 0) {
            throw new IllegalArgumentException("callClass must be one of " + classes + ", was '" + callClass + "'");
        }
        return rank;
    }
}

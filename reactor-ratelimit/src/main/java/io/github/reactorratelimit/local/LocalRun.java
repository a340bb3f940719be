package io.github.reactorratelimit.local;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.PermitRun;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.SlidingWindowLog;

/**
 * Takes permits for several elements by one look at the clock and one CAS, and why that is not laxer than
 * asking for each.
 *
 * <p><b>What is taken.</b> A take is an ordinary debit of several elements' permits at the time of the
 * first, which is at hand: it is allowed only if each of them would be at that time, and what it leaves
 * is what they would leave one by one. What is not used goes back by an ordinary refund as of that
 * time. The first is always used, so a debit that sets the phase of a policy is one that really happened.
 * A pause, a reset or the end of the limiter is seen at the next element, and the rest goes back then.
 * While a rest is held, others may be denied what comes back a moment later; never the other way round.
 *
 * <p><b>When it is used.</b> The second element and those after it leave later than their permits were
 * counted, by the time that downstream took for those before. Only a clock could tell how long that was,
 * and reading it is what this saves. So permits are taken ahead only where little can have passed: the
 * first take is of one element, and a take may be twice as large as the one before if that one's elements
 * took less than {@link #FAST_NANOS} each; otherwise it starts over from one. Downstream may still come
 * to a halt all of a sudden. Then at most {@link #LONGEST} &minus; 1 elements of one subscriber, and no more
 * permits than one {@link #SHARE}th of the policy's capacity, leave later than they were counted: by so much
 * a window that begins during the halt may see more than the policy's worst case.
 */
final class LocalRun implements PermitRun {

    static final int LONGEST = 64;
    static final int SHARE = 16;
    static final long FAST_NANOS = 1_000;

    private final LocalState state;
    private final String key;
    private final RateLimitPolicy policy;
    private final long permits;
    private final long longest;

    /** Elements of the last take that did not come yet. */
    private long left;

    /** Elements of the last take that came, or are still expected; 0 before the first. */
    private long taken;

    /** The time of the last take. */
    private long takenAt;

    /** What {@link LocalState#changes()} was at the last take. */
    private int seenChanges;

    LocalRun(LocalState state, String key, RateLimitPolicy policy, long permits) {
        this.state = state;
        this.key = key;
        this.policy = policy;
        this.permits = permits;
        this.longest = Math.max(1, Math.min(LONGEST, policy.capacity() / SHARE / permits));
    }

    /** A leaky bucket spaces its permits, a log is there to be exact, a concurrency limit wants its permits back one by one. */
    static boolean isPossible(RateLimitPolicy policy) {
        return policy instanceof CompositePolicy composite
                ? composite.parts().stream().allMatch(LocalRun::isPossible)
                : !(policy instanceof LeakyBucket
                        || policy instanceof SlidingWindowLog
                        || policy instanceof ConcurrencyLimit);
    }

    @Override
    public boolean tryNext(long most) {
        if (left > 0 && state.isUnchangedSince(seenChanges)) {
            left--;
            return true;
        }
        return take(most);
    }

    private boolean take(long most) {
        end();
        if (state.reign().ruling(key, policy) != policy) {
            // The length of a take was worked out for the policy that ruled when the run began.
            return state.tryAcquireNow(key, policy, permits);
        }
        seenChanges = state.changes();
        long now = state.now();
        long times = state.tryAcquireUpTo(key, policy, permits, Math.min(most, nextLength(now)), now);
        taken = times;
        takenAt = now;
        left = Math.max(0, times - 1);
        return times > 0;
    }

    private long nextLength(long now) {
        boolean fast = taken > 0 && now - takenAt < taken * FAST_NANOS;
        return fast ? Math.min(2 * taken, longest) : 1;
    }

    @Override
    public void end() {
        if (left > 0) {
            long unused = left;
            left = 0;
            taken -= unused;
            state.giveBack(key, policy, unused * permits, takenAt);
        }
    }
}

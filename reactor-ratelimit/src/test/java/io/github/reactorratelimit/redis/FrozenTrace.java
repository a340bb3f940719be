package io.github.reactorratelimit.redis;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import reactor.core.publisher.Mono;

/**
 * A random trace of asks, refunds, reservations, settlements and changes of policy for one key that nothing refills, against an account
 * kept by hand: after each step exactly as much is spent as was settled, or taken and not refunded, capped where a change capped it.
 *
 * <p>Who is refunded a rate that flows may get a part of a permit less than it took, and a change rounds that up to a whole one: never
 * more than it took.
 */
final class FrozenTrace {

    private static final Duration PATIENCE = Await.LONG;
    private static final String KEY = "k";
    private static final Duration AN_AGE = ofDays(300);

    private record Taken(RateLimiter limiter, Decision decision, int reign) {}

    private record Open(Reservation reservation, int reign) {}

    private final List<RateLimiter> limiters;
    private final SplittableRandom random;
    private final List<Open> open = new ArrayList<>();
    private final List<Taken> taken = new ArrayList<>();
    private RateLimitPolicy policy;
    private int reign;
    private long spent;

    /** By how many permits more may be spent than the account says, since parts of them were lost. */
    private long slack;

    private boolean lostAPart;
    private long settled;
    private long uncharged;
    private long lost;

    /** @param limiters of {@code policy} that count together */
    FrozenTrace(List<RateLimiter> limiters, RateLimitPolicy policy, SplittableRandom random) {
        this.limiters = limiters;
        this.policy = policy;
        this.random = random;
    }

    /** One of a few, so that some rule again. */
    static RateLimitPolicy randomPolicy(SplittableRandom random) {
        long limit = 40 * (1 + random.nextInt(3));
        return switch (random.nextInt(4)) {
            case 0 -> SlidingWindowLog.of(limit, AN_AGE);
            case 1 -> FixedWindow.of(limit, AN_AGE).fromFirstRequest();
            case 2 -> TokenBucket.of(limit, AN_AGE).stepwise();
            default -> TokenBucket.of(limit, AN_AGE);
        };
    }

    private boolean flows() {
        return policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS;
    }

    void step() {
        RateLimiter limiter = limiters.get(random.nextInt(limiters.size()));
        int dice = random.nextInt(24);
        if (dice == 0) {
            limiter.reset(KEY).block(PATIENCE);
            startAnew();
        } else if (dice < 4) {
            change(limiter, randomPolicy(random));
        } else if (dice < 10 && !open.isEmpty()) {
            settle(open.remove(random.nextInt(open.size())));
        } else if (dice < 16 && !taken.isEmpty()) {
            refund(taken.remove(random.nextInt(taken.size())));
        } else {
            ask(limiter);
        }
        check(limiter);
    }

    private void check(RateLimiter limiter) {
        long left = Math.max(0, policy.capacity() - spent);
        Decision seen = now(limiter.peek(KEY));
        assertThat(seen.limit()).isEqualTo(policy.capacity());
        assertThat(seen.remaining())
                .as("remaining of %s in reign %d", policy, reign)
                .isBetween(Math.max(0, left - slackNow()), left);
    }

    private long slackNow() {
        return slack + (lostAPart ? 1 : 0);
    }

    /** What is open then is never settled. */
    private void startAnew() {
        open.clear();
        taken.clear();
        spent = 0;
        slack = 0;
        lostAPart = false;
    }

    private void change(RateLimiter limiter, RateLimitPolicy to) {
        limiter.changePolicy(to).block(PATIENCE);
        limiters.forEach(each -> Await.until("the process follows", () -> {
            now(each.peek(KEY));
            return each.policy().equals(to);
        }));
        if (!to.equals(policy)) {
            reign(to);
        }
    }

    /** What was taken before is not refunded, also where the policy is an equal one. */
    private void reign(RateLimitPolicy to) {
        limiters.forEach(each -> now(each.peek(KEY)));
        reign++;
        if (!to.equals(policy)) {
            spent = Math.min(spent, Math.min(policy.capacity(), to.capacity()));
            slack = slackNow();
            lostAPart = false;
            policy = to;
        }
    }

    private void settle(Open settling) {
        long estimate = settling.reservation.estimate();
        long actual = random.nextInt(6) == 0 ? random.nextLong(200) : random.nextLong(estimate + 3);
        long mostDebt = policy.capacity();
        long chargeable = Math.max(0, policy.capacity() + mostDebt - spent);
        long tooMuch = Math.max(0, actual - estimate - chargeable);
        long notCharged = now(settling.reservation.settle(actual)).uncharged();
        assertThat(notCharged).isBetween(tooMuch, tooMuch + (actual > estimate ? slackNow() : 0));
        settled += actual;
        uncharged += notCharged;
        if (actual > estimate) {
            spent += actual - estimate - notCharged;
        } else {
            giveBack(estimate - actual, settling.reign);
        }
    }

    /** What was taken before a change is not given back. */
    private void giveBack(long permits, int takenIn) {
        if (takenIn == reign) {
            spent -= permits;
            lostAPart |= flows() && permits > 0;
        } else {
            lost += permits;
        }
    }

    private void refund(Taken debit) {
        debit.limiter.refund(debit.decision).block(PATIENCE);
        giveBack(debit.decision.permits(), debit.reign);
    }

    private void ask(RateLimiter limiter) {
        long permits = 1 + random.nextLong(random.nextBoolean() ? 8 : 40);
        long free = policy.capacity() - spent;
        boolean allowed = random.nextBoolean() ? reserve(limiter, permits) : take(limiter, permits);
        if (permits > free || permits <= free - slackNow()) {
            assertThat(allowed).as("%d of %d", permits, free).isEqualTo(permits <= free);
        }
        spent += allowed ? permits : 0;
    }

    private boolean reserve(RateLimiter limiter, long permits) {
        Reservation reserved = limiter.reserve(KEY, permits, ZERO)
                .onErrorResume(RateLimitExceededException.class, denied -> Mono.empty())
                .block(PATIENCE);
        if (reserved != null) {
            open.add(new Open(reserved, reign));
        }
        return reserved != null;
    }

    private boolean take(RateLimiter limiter, long permits) {
        Decision decision = now(limiter.tryAcquire(KEY, permits));
        if (decision.allowed()) {
            taken.add(new Taken(limiter, decision, reign));
        }
        return decision.allowed();
    }

    private static <T> T now(Mono<T> request) {
        T answer = request.block(PATIENCE);
        assertThat(answer).isNotNull();
        return answer;
    }

    /** How often the policy changed. */
    int changes() {
        return reign;
    }

    /** The sum of what reservations were settled by. */
    long settled() {
        return settled;
    }

    long uncharged() {
        return uncharged;
    }

    /** What could not be given back, since it was taken before a change. */
    long lost() {
        return lost;
    }
}

package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import reactor.core.publisher.Mono;

/**
 * A random trace of asks, refunds, reservations and settlements of one key that nothing refills, against an account kept by
 * hand. Whoever is refunded a rate that flows may get a part of a permit less than it took, never more.
 */
final class SettlingTrace {

    private static final long LIMIT = 100;
    private static final long MAX_DEBT = LIMIT;

    private record Taken(RateLimiter limiter, Decision decision) {}

    private final List<RateLimiter> limiters;
    private final String key;
    private final SplittableRandom random;
    private final long slack;
    private final List<Reservation> open = new ArrayList<>();
    private final List<Taken> taken = new ArrayList<>();
    private long spent;
    private int denials;
    private int stepsInDebt;

    /** @param limiters of a policy of {@value #LIMIT} permits that count together */
    SettlingTrace(List<RateLimiter> limiters, String key, SplittableRandom random) {
        this.limiters = limiters;
        this.key = key;
        this.random = random;
        RateLimitPolicy policy = limiters.get(0).policy();
        boolean flows = policy instanceof Gcra
                || (policy instanceof TokenBucket bucket && bucket.style() == TokenBucket.Refill.CONTINUOUS);
        this.slack = flows ? 1 : 0;
    }

    /** Whether there were more than ten denials, and more than ten steps in debt. */
    boolean hasSeenEnough() {
        return denials > 10 && stepsInDebt > 10;
    }

    void step() {
        RateLimiter limiter = limiters.get(random.nextInt(limiters.size()));
        if (random.nextInt(25) == 0) {
            startAnew(limiter);
        } else if (!open.isEmpty() && random.nextInt(3) == 0) {
            settle(open.remove(random.nextInt(open.size())));
        } else if (!taken.isEmpty() && random.nextInt(3) == 0) {
            refund(taken.remove(random.nextInt(taken.size())));
        } else {
            ask(limiter);
        }
        stepsInDebt += spent > LIMIT ? 1 : 0;
        long left = Math.max(0, LIMIT - spent);
        assertThat(now(limiter.peek(key)).remaining()).isBetween(Math.max(0, left - slack), left);
    }

    /** What was settled is spent for good; what is open then is never settled. */
    private void startAnew(RateLimiter limiter) {
        limiter.reset(key).block(SettlingContract.PATIENCE);
        open.clear();
        taken.clear();
        spent = 0;
    }

    private void settle(Reservation reserved) {
        long estimate = reserved.estimate();
        long actual = random.nextInt(6) == 0 ? random.nextLong(2 * LIMIT) : random.nextLong(estimate + 3);
        long chargeable = Math.max(0, LIMIT + MAX_DEBT - spent);
        long tooMuch = Math.max(0, actual - estimate - chargeable);
        long uncharged = now(reserved.settle(actual)).uncharged();
        assertThat(uncharged).isBetween(tooMuch, tooMuch + slack);
        spent += actual - estimate - uncharged;
    }

    private void refund(Taken debit) {
        debit.limiter().refund(debit.decision()).block(SettlingContract.PATIENCE);
        spent -= debit.decision().permits();
    }

    private void ask(RateLimiter limiter) {
        long permits = 1 + random.nextLong(random.nextBoolean() ? 10 : 60);
        long free = LIMIT - spent;
        boolean allowed = random.nextBoolean() ? reserve(limiter, permits) : take(limiter, permits);
        if (slack == 0 || permits != free) {
            assertThat(allowed).as("%d of %d", permits, free).isEqualTo(permits <= free);
        }
        spent += allowed ? permits : 0;
        denials += allowed ? 0 : 1;
    }

    private boolean reserve(RateLimiter limiter, long permits) {
        Reservation reserved = limiter.reserve(key, permits, ZERO)
                .onErrorResume(RateLimitExceededException.class, denied -> Mono.empty())
                .block(SettlingContract.PATIENCE);
        if (reserved != null) {
            open.add(reserved);
        }
        return reserved != null;
    }

    private boolean take(RateLimiter limiter, long permits) {
        Decision decision = now(limiter.tryAcquire(key, permits));
        if (decision.allowed()) {
            taken.add(new Taken(limiter, decision));
        }
        return decision.allowed();
    }

    private static <T> T now(Mono<T> request) {
        T answer = request.block(SettlingContract.PATIENCE);
        assertThat(answer).isNotNull();
        return answer;
    }
}

package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.redis.Ask.Op;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Calls for one key over a time that may go backward, and what the Java steps answer. Whoever was denied
 * often comes back within one tick of the time it was told.
 */
final class TwinHistory {

    private static final long MOST_TIME = (1L << 52) - 1;
    private static final long[] ORIGINS = {1_758_000_000_123_456L, 1_758_000_000_123_456L, 0, -12_345_678, MOST_TIME};
    private static final long HOUR = 3_600_000_000L;
    private static final long TEN_YEARS = 10 * 365 * 24 * HOUR;

    /** One call and what it must answer. */
    record Call(long now, List<Ask> asks, List<Answer> expected) {}

    private record Debited(long at, long permits) {}

    private final SplittableRandom random;
    private final int calm;
    private final RateLimitPolicy policy;
    private final PolicyArguments arguments;
    private final JavaTwin<?> twin;
    private final List<Call> calls = new ArrayList<>();
    private final List<Debited> debits = new ArrayList<>();
    private long now;
    private long promisedAt;
    private long promisedPermits;
    private long lastReset;

    private TwinHistory(SplittableRandom random, int calm, long start, RateLimitPolicy policy) {
        this.random = random;
        this.calm = calm;
        this.now = start;
        this.policy = policy;
        this.arguments = PolicyArguments.of(policy, start);
        this.twin = JavaTwin.of(policy, start);
    }

    /** Anything may happen at any call. */
    static TwinHistory wild(PolicyKind kind, long seed) {
        return random(kind, seed, 60, 1);
    }

    /** Many small steps, so that states grow; a wild one now and then. */
    static TwinHistory calm(PolicyKind kind, long seed) {
        return random(kind, seed, 2_000, 100);
    }

    private static TwinHistory random(PolicyKind kind, long seed, int length, int calm) {
        SplittableRandom random = new SplittableRandom(seed);
        long origin = ORIGINS[random.nextInt(ORIGINS.length)];
        long start = clamp(origin - random.nextLong(HOUR) + random.nextLong(HOUR));
        TwinHistory history = new TwinHistory(random, calm, start, kind.accepted(random, start));
        history.now = origin;
        while (history.calls.size() < length) {
            history.call();
        }
        return history;
    }

    /** The same asks every {@code stepMicros}. */
    static TwinHistory regular(RateLimitPolicy policy, int length, long stepMicros, List<Ask> asks) {
        TwinHistory history = new TwinHistory(new SplittableRandom(0), 1, ORIGINS[0], policy);
        for (int i = 0; i < length; i++) {
            history.now += stepMicros;
            history.calls.add(new Call(history.now, asks, history.twin.call(history.now, asks)));
        }
        return history;
    }

    RateLimitPolicy policy() {
        return policy;
    }

    PolicyArguments arguments() {
        return arguments;
    }

    List<Call> calls() {
        return calls;
    }

    private void call() {
        boolean comesBack = promisedPermits > 0 && random.nextInt(10) < 6 && isWild();
        now = clamp(comesBack ? promisedAt - 1 + random.nextInt(3) : now + pause());
        List<Ask> asks = new ArrayList<>();
        if (comesBack) {
            asks.add(Ask.take(promisedPermits));
        }
        int count = 1 + (random.nextInt(3) == 0 ? random.nextInt(5) : 0);
        while (asks.size() < count) {
            asks.add(ask());
        }
        List<Answer> answers = twin.call(now, asks);
        calls.add(new Call(now, List.copyOf(asks), answers));
        remember(asks, answers);
    }

    private void remember(List<Ask> asks, List<Answer> answers) {
        promisedPermits = 0;
        for (int i = 0; i < asks.size(); i++) {
            Answer answer = answers.get(i);
            lastReset = answer.resetMicros();
            if (asks.get(i).op() == Op.TAKE && answer.allowed()) {
                debits.add(new Debited(now, asks.get(i).permits()));
            } else if (asks.get(i).op() == Op.TAKE_UP_TO) {
                debits.add(new Debited(now, Math.max(1, answer.waitMicros())));
            } else if (!answer.allowed()) {
                promisedAt = now + answer.waitMicros();
                promisedPermits = asks.get(i).permits();
            }
        }
    }

    private boolean isWild() {
        return random.nextInt(calm) == 0;
    }

    private long pause() {
        if (!isWild()) {
            return random.nextLong(lastReset / 500 + 2);
        }
        return switch (random.nextInt(40)) {
            case 0 -> -random.nextLong(TEN_YEARS);
            case 1 -> random.nextLong(TEN_YEARS);
            case 2, 3 -> -random.nextLong(HOUR);
            case 4, 5, 6, 7 -> -random.nextLong(2 * lastReset + 2);
            case 8, 9, 10, 11, 12, 13, 14, 15 -> random.nextLong(2 * lastReset + 2);
            case 16, 17, 18, 19, 20, 21, 22, 23 -> random.nextLong(lastReset / 8 + 2);
            case 24, 25, 26, 27 -> random.nextInt(4);
            case 28, 29 -> -1 - random.nextInt(2);
            default -> 0;
        };
    }

    private Ask ask() {
        return switch (random.nextInt(20)) {
            case 0 -> isWild() ? Ask.reset() : Ask.look(permits());
            case 1, 2 -> Ask.look(permits());
            case 3, 4 -> Ask.charge(isWild() ? 1 + random.nextLong(2 * policy.capacity()) : permits());
            case 5, 6, 7, 8 -> giveBack();
            case 9 -> Ask.takeUpTo(permits());
            case 10, 11 -> overdraw();
            default -> Ask.take(permits());
        };
    }

    /** Mostly to a debt of one capacity, sometimes as far as can be counted. */
    private Ask overdraw() {
        long capacity = policy.capacity();
        long permits = isWild() ? 1 + random.nextLong(3 * capacity) : permits();
        long maxDebt = switch (random.nextInt(4)) {
            case 0 -> random.nextLong(capacity + 1);
            case 1 -> random.nextLong(1L << (1 + random.nextInt(52)));
            default -> capacity;
        };
        return Ask.overdraw(permits, maxDebt);
    }

    /** Mostly what was debited not long ago; sometimes what never was. */
    private Ask giveBack() {
        if (debits.isEmpty() || random.nextInt(8) == 0) {
            return Ask.giveBack(permits(), clamp(now + pause()));
        }
        int recent = random.nextInt(4) == 0 ? 40 : 6;
        Debited debited = debits.remove(debits.size() - 1 - random.nextInt(Math.min(debits.size(), recent)));
        return Ask.giveBack(debited.permits, debited.at);
    }

    private long permits() {
        if (!isWild()) {
            return 1 + random.nextLong(Math.min(policy.capacity(), 40));
        }
        long remaining = twin.remaining(now);
        long wanted = switch (random.nextInt(6)) {
            case 0, 1 -> 1;
            case 2 -> remaining;
            case 3 -> remaining + 1;
            default -> 1 + random.nextLong(policy.capacity());
        };
        return Math.max(1, Math.min(policy.capacity(), wanted));
    }

    private static long clamp(long time) {
        return Math.max(-MOST_TIME, Math.min(MOST_TIME, time));
    }
}

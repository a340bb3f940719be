package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.redis.Command.Op;
import io.github.reactorratelimit.redis.JavaTwin.Answer;
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
    record Call(long now, List<Command> commands, List<Answer> expected) {}

    private record Debited(long at, long permits) {}

    private final SplittableRandom random;
    private final int calm;
    private final RateLimitPolicy policy;
    private final ServerClock clock;
    private final ScriptPolicy script;
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
        this.clock = ScriptSteps.clockAt(start);
        this.script = ScriptPolicy.of(policy);
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

    /** The same commands every {@code stepMicros}. */
    static TwinHistory regular(RateLimitPolicy policy, int length, long stepMicros, List<Command> commands) {
        TwinHistory history = new TwinHistory(new SplittableRandom(0), 1, ORIGINS[0], policy);
        for (int i = 0; i < length; i++) {
            history.now += stepMicros;
            history.calls.add(new Call(history.now, commands, history.twin.call(history.now, commands)));
        }
        return history;
    }

    RateLimitPolicy policy() {
        return policy;
    }

    ScriptPolicy script() {
        return script;
    }

    ServerClock clock() {
        return clock;
    }

    List<Call> calls() {
        return calls;
    }

    private void call() {
        boolean comesBack = promisedPermits > 0 && random.nextInt(10) < 6 && isWild();
        now = clamp(comesBack ? promisedAt - 1 + random.nextInt(3) : now + pause());
        List<Command> commands = new ArrayList<>();
        if (comesBack) {
            commands.add(Command.acquire(promisedPermits));
        }
        int count = 1 + (random.nextInt(3) == 0 ? random.nextInt(5) : 0);
        while (commands.size() < count) {
            commands.add(command());
        }
        List<Answer> answers = twin.call(now, commands);
        calls.add(new Call(now, List.copyOf(commands), answers));
        remember(commands, answers);
    }

    private void remember(List<Command> commands, List<Answer> answers) {
        promisedPermits = 0;
        for (int i = 0; i < commands.size(); i++) {
            Answer answer = answers.get(i);
            lastReset = answer.resetMicros();
            if (commands.get(i).op() == Op.ACQUIRE && answer.allowed()) {
                debits.add(new Debited(now, commands.get(i).permits()));
            } else if (commands.get(i).op() == Op.ACQUIRE_UP_TO) {
                debits.add(new Debited(now, Math.max(1, answer.count())));
            } else if (!answer.allowed()) {
                promisedAt = now + answer.waitMicros();
                promisedPermits = commands.get(i).permits();
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

    private Command command() {
        return switch (random.nextInt(20)) {
            case 0 -> isWild() ? Command.reset() : Command.peek(permits());
            case 1, 2 -> Command.peek(permits());
            case 3, 4 -> Command.chargeRemaining(isWild() ? 1 + random.nextLong(2 * policy.capacity()) : permits());
            case 5, 6, 7, 8 -> giveBack();
            case 9 -> Command.acquireUpTo(permits());
            case 10, 11 -> overdraw();
            default -> Command.acquire(permits());
        };
    }

    /** Mostly to a debt of one capacity, sometimes as far as can be counted. */
    private Command overdraw() {
        long capacity = policy.capacity();
        long permits = isWild() ? 1 + random.nextLong(3 * capacity) : permits();
        long maxDebt = switch (random.nextInt(4)) {
            case 0 -> random.nextLong(capacity + 1);
            case 1 -> random.nextLong(1L << (1 + random.nextInt(52)));
            default -> capacity;
        };
        return Command.charge(permits, maxDebt);
    }

    /** Mostly what was debited not long ago; sometimes what never was. */
    private Command giveBack() {
        if (debits.isEmpty() || random.nextInt(8) == 0) {
            return Command.refund(permits(), clamp(now + pause()));
        }
        int recent = random.nextInt(4) == 0 ? 40 : 6;
        Debited debited = debits.remove(debits.size() - 1 - random.nextInt(Math.min(debits.size(), recent)));
        return Command.refund(debited.permits, debited.at);
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

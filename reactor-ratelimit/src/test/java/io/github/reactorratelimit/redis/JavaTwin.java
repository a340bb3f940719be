package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.BackwardClock;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Tick;
import java.util.ArrayList;
import java.util.List;

/** What a script must answer, by the Java steps on a state of their own. */
final class JavaTwin<S> {

    private final RateLimitPolicy policy;
    private final Algorithm<S> algorithm;
    private S state;

    private Reset reset = Reset.NONE;

    /** The last reset, and until when what was spent before would have mattered. */
    private record Reset(long at, long until) {

        static final Reset NONE = new Reset(Long.MIN_VALUE, Long.MIN_VALUE);

        /** In the future it is of a clock that went back. */
        Reset seenAt(long now) {
            Reset seen = at > now ? new Reset(now, until - (at - now)) : this;
            return now < seen.until ? seen : NONE;
        }

        boolean covers(Command refund) {
            return Long.parseLong(refund.argument()) <= at;
        }
    }

    private JavaTwin(RateLimitPolicy policy, Algorithm<S> algorithm) {
        this.policy = policy;
        this.algorithm = algorithm;
        this.state = algorithm.fresh();
    }

    /** What a reply says of one command. */
    record Answer(
            boolean allowed, long remaining, long waitMicros, long resetMicros, int part, long moreMicros, long count) {

        static Answer of(CommandReply reply) {
            return new Answer(
                    reply.allowed(),
                    reply.remaining(),
                    reply.waitMicros(),
                    reply.resetMicros(),
                    reply.part(),
                    reply.moreMicros(),
                    reply.count());
        }

        Answer counting(long permits) {
            return new Answer(true, remaining, waitMicros, resetMicros, part, moreMicros, permits);
        }
    }

    static JavaTwin<?> of(RateLimitPolicy policy, long startMicros) {
        return of(policy, Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, startMicros)));
    }

    private static <S> JavaTwin<S> of(RateLimitPolicy policy, Algorithm<S> algorithm) {
        return new JavaTwin<>(policy, algorithm);
    }

    /** One call, as frame.lua works it off. */
    List<Answer> call(long now, List<Command> commands) {
        state = BackwardClock.rebase(algorithm, state, now);
        reset = reset.seenAt(now);
        List<Answer> answers = new ArrayList<>();
        for (Command command : commands) {
            answers.add(answer(now, command));
        }
        // A time of 0 is stored as none.
        reset = reset.at == 0 || reset.until == 0 ? Reset.NONE : reset;
        return answers;
    }

    long remaining(long now) {
        return algorithm.remaining(state, now);
    }

    private Answer answer(long now, Command command) {
        return switch (command.op()) {
            case ACQUIRE -> take(now, command.permits());
            case ACQUIRE_UP_TO -> takeUpTo(now, command.permits());
            case PEEK -> read(now, command.permits());
            case REFUND -> {
                long debitedAt = Long.parseLong(command.argument());
                yield reset.covers(command)
                        ? then(now, state)
                        : then(now, algorithm.refund(state, now, debitedAt, command.permits()));
            }
            case CHARGE_REMAINING -> {
                long charged = Math.min(command.permits(), algorithm.remaining(state, now));
                yield then(now, charged == 0 ? state : algorithm.debit(state, now, charged));
            }
            case CHARGE -> overdraw(now, command.permits(), Long.parseLong(command.argument()));
            case RESET -> {
                long resetTicks = algorithm.read(state, now, 0).resetTicks();
                if (resetTicks > 0) {
                    reset = new Reset(now, Math.max(reset.until, now + resetTicks));
                }
                yield then(now, BackwardClock.rebase(algorithm, algorithm.fresh(), now));
            }
            default -> throw new IllegalArgumentException("no twin of " + command.op());
        };
    }

    private Answer take(long now, long permits) {
        return algorithm.waitTicks(state, now, permits) == 0
                ? then(now, algorithm.debit(state, now, permits))
                : read(now, permits);
    }

    private Answer takeUpTo(long now, long permits) {
        long taken = Math.min(permits, algorithm.remaining(state, now));
        Answer answer = then(now, taken == 0 ? state : algorithm.debit(state, now, taken));
        return answer.counting(taken);
    }

    private Answer overdraw(long now, long permits, long maxDebt) {
        long left = permits - Math.min(permits, algorithm.chargeable(state, now, maxDebt));
        Answer answer = then(now, algorithm.charge(state, now, permits, maxDebt));
        return answer.counting(left);
    }

    private Answer then(long now, S next) {
        state = next;
        return read(now, 0);
    }

    private Answer read(long now, long permits) {
        Reading reading = algorithm.read(state, now, permits);
        return new Answer(
                reading.allowed(),
                reading.remaining(),
                reading.waitTicks(),
                reading.resetTicks(),
                partOf(reading),
                reading.moreTicks(),
                0);
    }

    private int partOf(Reading reading) {
        if (policy instanceof CompositePolicy composite) {
            for (int i = 0; i < composite.parts().size(); i++) {
                if (composite.parts().get(i) == reading.policy()) {
                    return i;
                }
            }
        }
        return 0;
    }
}

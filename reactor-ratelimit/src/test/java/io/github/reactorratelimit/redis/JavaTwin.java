package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.CompositePolicy;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.algorithm.Algorithm;
import io.github.reactorratelimit.algorithm.Algorithms;
import io.github.reactorratelimit.algorithm.Algorithms.Clock;
import io.github.reactorratelimit.algorithm.BackwardClock;
import io.github.reactorratelimit.algorithm.Reading;
import io.github.reactorratelimit.algorithm.Tick;
import io.github.reactorratelimit.redis.ScriptReply.Answer;
import java.util.ArrayList;
import java.util.List;

/** What a script must answer, by the Java steps on a state of their own. */
final class JavaTwin<S> {

    private final RateLimitPolicy policy;
    private final Algorithm<S> algorithm;
    private S state;

    private JavaTwin(RateLimitPolicy policy, Algorithm<S> algorithm) {
        this.policy = policy;
        this.algorithm = algorithm;
        this.state = algorithm.fresh();
    }

    static JavaTwin<?> of(RateLimitPolicy policy, long startMicros) {
        return of(policy, Algorithms.of(policy, new Clock(Tick.MICROSECOND, 0, startMicros)));
    }

    private static <S> JavaTwin<S> of(RateLimitPolicy policy, Algorithm<S> algorithm) {
        return new JavaTwin<>(policy, algorithm);
    }

    /** One call, as evaluate.lua works it off. */
    List<Answer> call(long now, List<Ask> asks) {
        state = BackwardClock.rebase(algorithm, state, now);
        List<Answer> answers = new ArrayList<>();
        for (Ask ask : asks) {
            answers.add(answer(now, ask));
        }
        return answers;
    }

    long remaining(long now) {
        return algorithm.remaining(state, now);
    }

    private Answer answer(long now, Ask ask) {
        return switch (ask.op()) {
            case TAKE -> take(now, ask.permits());
            case TAKE_UP_TO -> takeUpTo(now, ask.permits());
            case LOOK -> read(now, ask.permits());
            case GIVE_BACK -> then(now, algorithm.refund(state, now, ask.atMicros(), ask.permits()));
            case CHARGE -> {
                long charged = Math.min(ask.permits(), algorithm.remaining(state, now));
                yield then(now, charged == 0 ? state : algorithm.debit(state, now, charged));
            }
            case OVERDRAW -> overdraw(now, ask.permits(), ask.atMicros());
            case RESET -> then(now, BackwardClock.rebase(algorithm, algorithm.fresh(), now));
            default -> throw new IllegalArgumentException("no twin of " + ask.op());
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
        return new Answer(true, answer.remaining(), taken, answer.resetMicros(), answer.part(), answer.moreMicros());
    }

    private Answer overdraw(long now, long permits, long maxDebt) {
        long left = permits - Math.min(permits, algorithm.chargeable(state, now, maxDebt));
        Answer answer = then(now, algorithm.charge(state, now, permits, maxDebt));
        return new Answer(true, answer.remaining(), left, answer.resetMicros(), answer.part(), answer.moreMicros());
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
                reading.moreTicks());
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

package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A state that looks on while another, the live one, decides; made only where somebody wants to look. */
abstract class WrappedState implements LimiterState {

    final LimiterState live;

    WrappedState(LimiterState live) {
        this.live = live;
    }

    /** The state that decides. */
    static LimiterState innermost(LimiterState state) {
        LimiterState inner = state;
        while (inner instanceof WrappedState wrapped) {
            inner = wrapped.live;
        }
        return inner;
    }

    /** {@link JointState#evaluateTogether} of the live states, of which those who look on are told. */
    static Mono<List<Decision>> evaluateTogether(List<JointState.Take> takes) {
        List<JointState.Take> live = takes.stream()
                .map(take -> new JointState.Take(innermost(take.state()), take.key(), take.policy(), take.permits()))
                .toList();
        Mono<List<Decision>> answer = ((JointState) live.get(0).state()).evaluateTogether(live);
        return takes.stream().anyMatch(take -> take.state() instanceof WrappedState)
                ? answer.doOnNext(decisions -> tellTogether(takes, decisions))
                : answer;
    }

    private static void tellTogether(List<JointState.Take> takes, List<Decision> decisions) {
        boolean kept = decisions.stream().allMatch(Decision::allowed);
        for (int i = 0; i < decisions.size(); i++) {
            LimiterState state = takes.get(i).state();
            while (state instanceof WrappedState wrapped) {
                wrapped.answeredTogether(takes.get(i), decisions.get(i), kept);
                state = wrapped.live;
            }
        }
    }

    /**
     * A request was answered together with others.
     *
     * @param kept false if one of them was denied: then nothing was taken
     */
    abstract void answeredTogether(JointState.Take take, Decision decision, boolean kept);

    @Override
    public Mono<Decision> peek(String key, RateLimitPolicy policy, long permits) {
        return live.peek(key, policy, permits);
    }

    @Override
    public Mono<Void> reset(String key, RateLimitPolicy policy) {
        return live.reset(key, policy);
    }

    @Override
    public boolean owns(Debit debit) {
        return live.owns(debit);
    }

    @Override
    public Mono<Void> refund(Debit debit) {
        return live.refund(debit);
    }

    @Override
    public Mono<Void> pause(String key, RateLimitPolicy policy, Duration duration) {
        return live.pause(key, policy, duration);
    }

    @Override
    public Mono<Void> pauseAtLeast(String key, RateLimitPolicy policy, Duration duration) {
        return live.pauseAtLeast(key, policy, duration);
    }

    @Override
    public Mono<Void> carry(String key, RateLimitPolicy from, RateLimitPolicy to) {
        return live.carry(key, from, to);
    }

    @Override
    public Mono<Long> charge(String key, RateLimitPolicy policy, long permits, long maxDebt) {
        return live.charge(key, policy, permits, maxDebt);
    }

    @Override
    public Mono<Void> changePolicy(RateLimitPolicy to) {
        return live.changePolicy(to);
    }

    @Override
    public Mono<Void> changePolicy(String key, RateLimitPolicy named, RateLimitPolicy to) {
        return live.changePolicy(key, named, to);
    }

    @Override
    public Mono<Void> restorePolicy(String key, RateLimitPolicy named) {
        return live.restorePolicy(key, named);
    }

    @Override
    public @Nullable RateLimitPolicy ownPolicy(String key) {
        return live.ownPolicy(key);
    }

    @Override
    public void whenRuledAnew(Consumer<RateLimitPolicy> listener) {
        live.whenRuledAnew(listener);
    }

    @Override
    public RateLimitPolicy ruling(RateLimitPolicy policy) {
        return live.ruling(policy);
    }

    @Override
    public boolean isShared() {
        return live.isShared();
    }

    @Override
    public Mono<Void> close() {
        return live.close();
    }

    @Override
    public boolean isClosed() {
        return live.isClosed();
    }

    /** A run of which each element that passes is told before it is delivered. */
    record ToldRun(PermitRun actual, Runnable passed) implements PermitRun {

        @Override
        public boolean tryNext(long most) {
            boolean allowed = actual.tryNext(most);
            if (allowed) {
                passed.run();
            }
            return allowed;
        }

        @Override
        public void end() {
            actual.end();
        }
    }
}

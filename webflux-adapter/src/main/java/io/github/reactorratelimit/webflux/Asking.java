package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Asks the limiters of one request, until one denies. First those that never wait, in one step where their store can do that: a request
 * that is denied anyway does not wait first. Then, in order, those that may wait, and last those whose permits are held while the
 * request runs, so that nobody holds them who waits. What was granted is the {@link Admission}'s.
 */
final class Asking {

    private static final Mono<Optional<RateLimitDenial>> PASS = Mono.just(Optional.empty());

    private final Admission admission;
    private final List<RuleAsk> atOnce = new ArrayList<>();
    private final List<Mono<Optional<RateLimitDenial>>> waits = new ArrayList<>();
    private final List<Mono<Optional<RateLimitDenial>>> leases = new ArrayList<>();

    private Asking(Admission admission) {
        this.admission = admission;
    }

    /** Whether the request may pass; if not, why. Cancelling leaves the line; what was granted before stays the admission's. */
    static Mono<Optional<RateLimitDenial>> all(List<RuleAsk> asks, Admission admission) {
        Asking asking = new Asking(admission);
        asks.forEach(asking::plan);
        Mono<Optional<RateLimitDenial>> answer = asking.askAtOnce();
        for (Mono<Optional<RateLimitDenial>> wait : asking.waits) {
            answer = andThen(answer, wait);
        }
        for (Mono<Optional<RateLimitDenial>> lease : asking.leases) {
            answer = andThen(answer, lease);
        }
        return answer;
    }

    private static Mono<Optional<RateLimitDenial>> andThen(
            Mono<Optional<RateLimitDenial>> first, Mono<Optional<RateLimitDenial>> then) {
        return first == PASS ? then : first.flatMap(denial -> denial.isPresent() ? Mono.just(denial) : then);
    }

    /** Whether the answer never waits, and nothing is held while the request runs. */
    static boolean isAnsweredAtOnce(RateLimitRule rule) {
        return rule.mode() instanceof RateLimitMode.Reject && !rule.isConcurrency();
    }

    private void plan(RuleAsk ask) {
        RateLimitMode mode = ask.rule().mode();
        Duration maxWait = mode instanceof RateLimitMode.Delay delay ? delay.maxWait() : Duration.ZERO;
        if (ask.rule().isConcurrency()) {
            leases.add(lease(ask, maxWait));
        } else if (mode instanceof RateLimitMode.Delay) {
            waits.add(wait(ask, ask.rule().limiter(), maxWait));
        } else {
            atOnce.add(ask);
        }
        if (mode instanceof RateLimitMode.DelayAbove above) {
            waits.add(wait(ask, above.soft(), above.maxWait()));
        }
    }

    private Mono<Optional<RateLimitDenial>> askAtOnce() {
        if (atOnce.isEmpty()) {
            return PASS;
        }
        FailureAction first = atOnce.get(0).rule().onFailure();
        boolean alike = atOnce.stream().allMatch(ask -> ask.rule().onFailure() == first);
        return atOnce.size() > 1 && alike ? together(first) : oneByOne();
    }

    private Mono<Optional<RateLimitDenial>> oneByOne() {
        Mono<Optional<RateLimitDenial>> answer = PASS;
        for (RuleAsk ask : atOnce) {
            answer = andThen(answer, alone(ask));
        }
        return answer;
    }

    /** A failure does not tell whose it is: it must not let the request pass the others, which are then asked one by one. */
    private Mono<Optional<RateLimitDenial>> together(FailureAction onFailure) {
        List<RateLimiter.PermitRequest> asks =
                atOnce.stream().map(RuleAsk::asked).toList();
        Mono<Optional<RateLimitDenial>> answer =
                Mono.defer(() -> RateLimiter.acquireAll(asks)).map(this::accept);
        RuleAsk blamed = atOnce.stream()
                .filter(ask -> ask.permits() > ask.rule().limiter().policy().capacity())
                .findFirst()
                .orElse(atOnce.get(0));
        return answer.onErrorResume(
                RateLimitException.class,
                failure -> onFailure == FailureAction.DENY ? failed(blamed.rule(), failure) : oneByOne());
    }

    private Optional<RateLimitDenial> accept(JointDecision joint) {
        List<Decision> decisions = joint.decisions();
        if (!joint.allowed()) {
            int last = decisions.size() - 1;
            return Optional.of(RateLimitDenial.by(atOnce.get(last).rule(), decisions.get(last)));
        }
        for (int i = 0; i < decisions.size(); i++) {
            RateLimitRule rule = atOnce.get(i).rule();
            admission.add(new Grant(rule, rule.limiter(), decisions.get(i), null));
        }
        return Optional.empty();
    }

    private Mono<Optional<RateLimitDenial>> alone(RuleAsk ask) {
        RateLimiter limiter = ask.rule().limiter();
        return guarded(ask, limiter, Mono.defer(() -> limiter.tryAcquire(ask.key(), ask.permits())));
    }

    private Mono<Optional<RateLimitDenial>> wait(RuleAsk ask, RateLimiter limiter, Duration maxWait) {
        return guarded(ask, limiter, Mono.defer(() -> limiter.acquire(ask.key(), ask.permits(), maxWait)));
    }

    private Mono<Optional<RateLimitDenial>> guarded(RuleAsk ask, RateLimiter limiter, Mono<Decision> answer) {
        return answer.map(decision -> {
                    if (!decision.allowed()) {
                        return Optional.of(RateLimitDenial.by(ask.rule(), decision));
                    }
                    admission.add(new Grant(ask.rule(), limiter, decision, null));
                    return Optional.<RateLimitDenial>empty();
                })
                .onErrorResume(RateLimitException.class, failure -> failed(ask.rule(), failure));
    }

    private Mono<Optional<RateLimitDenial>> lease(RuleAsk ask, Duration maxWait) {
        RateLimiter limiter = ask.rule().limiter();
        return Mono.defer(() -> limiter.acquireLease(ask.key(), ask.permits(), maxWait))
                .map(lease -> {
                    admission.add(new Grant(ask.rule(), limiter, lease.decision(), lease));
                    return Optional.<RateLimitDenial>empty();
                })
                .onErrorResume(RateLimitException.class, failure -> failed(ask.rule(), failure));
    }

    private static Mono<Optional<RateLimitDenial>> failed(RateLimitRule rule, RateLimitException failure) {
        return Mono.just(Optional.ofNullable(denialBy(rule, failure)));
    }

    /** What becomes of a request whose limiter failed; null if it passes. */
    static @Nullable RateLimitDenial denialBy(RateLimitRule rule, RateLimitException failure) {
        if (failure instanceof RateLimitExceededException exceeded) {
            return RateLimitDenial.by(rule, exceeded.decision());
        }
        if (failure instanceof PermitsExceedCapacityException) {
            return RateLimitDenial.tooCostly(rule);
        }
        return rule.onFailure() == FailureAction.ALLOW ? null : RateLimitDenial.failed(rule);
    }
}

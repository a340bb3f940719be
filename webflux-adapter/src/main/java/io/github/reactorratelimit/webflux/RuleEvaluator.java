package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.JointDecision;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiter.PermitRequest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Evaluates the rules of one request. First it resolves all keys, so that a request without a key costs nothing. Then
 * it asks the limiters that never wait, in one step where their store can; then, in order, those that may wait; last
 * those whose permits are held while the request runs. The first denial ends it and refunds all grants.
 *
 * <p>One loop takes one step after the other, for limiters in this process, in Redis and for waits alike. Each step
 * subscribes to one publisher. If its answer comes synchronously, the loop continues; otherwise the answer resumes the
 * loop, on the event loop of the request. {@link #signals} makes sure that one thread at a time runs the loop. A grant
 * is added to the {@link RequestPermits} when it arrives: if the client has cancelled, they refund it.
 */
final class RuleEvaluator implements CoreSubscriber<Object> {

    private static final Object TIMED_OUT = new Object();

    /** Cannot be sent in a header; a client that sends it otherwise counts with those that have no key. */
    private static final String NO_KEY = "\u0000none";

    private final @Nullable ServerWebExchange exchange;
    private final List<RateLimitRule> rules;
    private final RequestPermits permits;
    private final Context context;
    private final @Nullable EventLoopAffinity eventLoop;

    /** Signals not yet worked off, plus one while the loop runs. */
    private final AtomicInteger signals = new AtomicInteger(1);

    private final Disposable.Swap subscription = Disposables.swap();
    private final List<String> keys;
    private final Deque<Runnable> steps = new ArrayDeque<>();

    /** The rules that the current step evaluates, and the limiter that it asks; null for a key. */
    private List<RateLimitRule> asked = List.of();

    private @Nullable RateLimiter limiter;
    private boolean answered;
    private boolean planned;
    private boolean ended;
    private @Nullable RateLimitDenial denial;
    private @Nullable Throwable error;

    /** What the request held when it was denied; null until it has been refunded. */
    private @Nullable List<Grant> refunded;

    private @Nullable RateLimitResult result;

    /** Null if the evaluation ended before {@link #start} returned. */
    private Sinks.@Nullable One<RateLimitResult> later;

    private RuleEvaluator(
            @Nullable ServerWebExchange exchange,
            List<RateLimitRule> rules,
            RequestPermits permits,
            ContextView context) {
        this.exchange = exchange;
        this.rules = rules;
        this.permits = permits;
        this.context = Context.of(context);
        this.eventLoop = exchange == null ? null : EventLoopAffinity.of(exchange);
        this.keys = new ArrayList<>(rules.size());
    }

    /**
     * Starts to evaluate.
     *
     * @param exchange null if only the key of the request is known
     * @param externalKey the key of the last rule, if the caller has resolved it
     */
    static RuleEvaluator start(
            @Nullable ServerWebExchange exchange,
            List<RateLimitRule> rules,
            RequestPermits permits,
            Duration keyTimeout,
            @Nullable String externalKey,
            ContextView context) {
        RuleEvaluator evaluator = new RuleEvaluator(exchange, rules, permits, context);
        for (RateLimitRule rule : rules) {
            boolean external = externalKey != null && evaluator.steps.size() == rules.size() - 1;
            evaluator.steps.add(() -> evaluator.resolveKey(rule, external ? externalKey : null, keyTimeout));
        }
        evaluator.run();
        return evaluator;
    }

    /** The result if it is known already; null if it is pending, failed or cancelled. */
    @Nullable
    RateLimitResult known() {
        return later == null ? result : null;
    }

    /** The result when it is known. Empty if the client cancelled before. Subscribe to it once. */
    Mono<RateLimitResult> result() {
        if (later != null) {
            return later.asMono().doOnCancel(this::cancel);
        }
        return error == null ? Mono.justOrEmpty(result) : Mono.error(error);
    }

    private void cancel() {
        subscription.dispose();
        permits.cancel();
    }

    private void run() {
        do {
            try {
                next();
            } catch (Throwable failed) {
                Exceptions.throwIfFatal(failed);
                error = Exceptions.unwrap(failed);
                signals.incrementAndGet();
            }
            if (!ended && later == null && signals.get() == 1) {
                later = Sinks.unsafe().one();
            }
        } while (signals.decrementAndGet() != 0);
    }

    /** Takes the next step, or ends. */
    private void next() {
        if (ended) {
            return;
        }
        if (denial != null || error != null) {
            refundThenEnd();
            return;
        }
        if (steps.isEmpty() && !planned) {
            planned = true;
            plan();
        }
        Runnable step = steps.poll();
        if (step != null) {
            step.run();
        } else {
            end(permits.allow(exchange) ? new RateLimitResult(null, permits.grants()) : null);
        }
    }

    private void refundThenEnd() {
        if (refunded == null) {
            refunded = permits.grants();
            if (!refunded.isEmpty()) {
                ask(List.of(), null, permits.refundAll());
                return;
            }
        }
        end(error == null ? new RateLimitResult(denial, refunded) : null);
    }

    private void end(@Nullable RateLimitResult known) {
        ended = true;
        result = known;
        if (later == null) {
            return;
        }
        if (error != null) {
            later.tryEmitError(error);
        } else if (known != null) {
            later.tryEmitValue(known);
        } else {
            later.tryEmitEmpty();
        }
    }

    private void resolveKey(RateLimitRule rule, @Nullable String external, Duration timeout) {
        Mono<String> key =
                external == null ? rule.key().resolve(Objects.requireNonNull(exchange)) : Mono.just(external);
        boolean isKnown = key instanceof Callable<?>;
        ask(List.of(rule), null, isKnown ? key : key.cast(Object.class).timeout(timeout, Mono.just(TIMED_OUT)));
    }

    /** An empty key is a missing one: a client may send an empty header. */
    private void addKey(RateLimitRule rule, String key) {
        HttpStatusCode status = key.isEmpty() ? rule.missingKeyStatus() : null;
        if (status != null) {
            denial = RateLimitDenial.missingKey(rule, status);
        } else {
            keys.add(key.isEmpty() ? NO_KEY : key);
        }
    }

    private void plan() {
        List<RateLimitRule> immediate = new ArrayList<>(rules.size());
        List<PermitRequest> requests = new ArrayList<>(rules.size());
        List<Runnable> leases = new ArrayList<>();
        for (int i = 0; i < rules.size(); i++) {
            RateLimitRule rule = rules.get(i);
            RateLimiter soft = rule.soft();
            PermitRequest request = new PermitRequest(rule.limiter(), keys.get(i), rule.permitsOf(exchange));
            Duration maxWait = soft == null ? rule.maxWait() : Duration.ZERO;
            if (rule.isConcurrency()) {
                leases.add(() -> ask(
                        List.of(rule),
                        rule.limiter(),
                        rule.limiter().acquireLease(request.key(), request.permits(), maxWait)));
            } else if (!maxWait.isZero()) {
                steps.add(() -> acquire(rule, rule.limiter(), request, maxWait));
            } else {
                immediate.add(rule);
                requests.add(request);
            }
            if (soft != null) {
                steps.add(() -> acquire(rule, soft, request, rule.maxWait()));
            }
        }
        if (requests.size() > 1
                && immediate.stream().map(RateLimitRule::onFailure).distinct().count() == 1) {
            steps.addFirst(() -> acquireAll(immediate, requests));
        } else {
            tryAcquireEach(immediate, requests);
        }
        steps.addAll(leases);
    }

    private void tryAcquireEach(List<RateLimitRule> immediate, List<PermitRequest> requests) {
        for (int i = requests.size() - 1; i >= 0; i--) {
            List<RateLimitRule> rule = List.of(immediate.get(i));
            PermitRequest request = requests.get(i);
            steps.addFirst(
                    () -> ask(rule, request.limiter(), request.limiter().tryAcquire(request.key(), request.permits())));
        }
    }

    private void acquire(RateLimitRule rule, RateLimiter from, PermitRequest request, Duration maxWait) {
        ask(List.of(rule), from, from.acquire(request.key(), request.permits(), maxWait));
    }

    /** A failure does not say which limiter failed: it must not let the request pass the others. */
    private void acquireAll(List<RateLimitRule> immediate, List<PermitRequest> requests) {
        Mono<?> answer = RateLimiter.acquireAll(requests);
        boolean allows = immediate.get(0).onFailure() == FailureAction.ALLOW;
        ask(
                immediate,
                immediate.get(0).limiter(),
                allows
                        ? answer.cast(Object.class).onErrorResume(RateLimitException.class, failure -> {
                            tryAcquireEach(immediate, requests);
                            return Mono.just(failure);
                        })
                        : answer);
    }

    private void ask(List<RateLimitRule> of, @Nullable RateLimiter from, Mono<?> publisher) {
        asked = of;
        limiter = from;
        answered = false;
        publisher.subscribe(this);
    }

    @Override
    public Context currentContext() {
        return eventLoop == null
                ? context
                : RateLimitContext.answersOn(eventLoop).apply(context);
    }

    @Override
    public void onSubscribe(Subscription upstream) {
        subscription.replace(upstream::cancel);
        upstream.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object answer) {
        answered = true;
        if (answer instanceof Decision decision) {
            decided(0, decision, null);
        } else if (answer instanceof Lease lease) {
            decided(0, lease.decision(), lease);
        } else if (answer instanceof JointDecision joint) {
            List<Decision> decisions = joint.decisions();
            for (int i = joint.allowed() ? 0 : decisions.size() - 1; i < decisions.size(); i++) {
                decided(i, decisions.get(i), null);
            }
        } else if (answer == TIMED_OUT) {
            denial = RateLimitDenial.failed(asked.get(0));
        } else if (answer instanceof String key) {
            addKey(asked.get(0), key);
        }
    }

    private void decided(int index, Decision decision, @Nullable Lease lease) {
        RateLimitRule rule = asked.get(index);
        if (decision.allowed()) {
            RateLimiter by = index == 0 ? Objects.requireNonNull(limiter) : rule.limiter();
            permits.add(new Grant(rule, by, decision, lease));
        } else {
            denial = RateLimitDenial.by(rule, decision);
        }
    }

    @Override
    public void onError(Throwable failure) {
        if (limiter != null && failure instanceof RateLimitException limited) {
            denial = RateLimitDenial.by(culprit(), limited);
        } else {
            error = failure;
        }
        resume();
    }

    /** The rule whose cost no limit of its ever gives, if that is what failed. */
    private RateLimitRule culprit() {
        return asked.stream()
                .filter(rule ->
                        rule.permitsOf(exchange) > rule.limiter().policy().capacity())
                .findFirst()
                .orElse(asked.get(0));
    }

    /** A request without a key has an empty one; a limiter that completes without a decision has allowed nothing. */
    @Override
    public void onComplete() {
        if (!answered && !asked.isEmpty()) {
            if (limiter == null) {
                addKey(asked.get(0), "");
            } else {
                denial = RateLimitDenial.failed(asked.get(0));
            }
        }
        resume();
    }

    private void resume() {
        if (signals.getAndIncrement() != 0) {
            return;
        }
        if (eventLoop == null || eventLoop.isCurrent()) {
            run();
            return;
        }
        try {
            eventLoop.execute(this::run);
        } catch (RejectedExecutionException closed) {
            error = closed;
            run();
        }
    }
}

package io.github.reactorratelimit.webflux;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.context.Context;

/**
 * What one limiter answers to one ask. A limiter in this process has answered when {@link #of} returns; then nothing of Reactor is needed to
 * go on. Another answers later, on a thread of its own.
 *
 * <p>One reference says which of the two it is, and it changes at most twice: from nothing to the outcome, or from nothing to a sink that
 * then gets the outcome. Both begin with a compare-and-set from nothing, by the thread that answers and the thread that asked; so whoever
 * loses sees what the other left there, and the outcome is neither lost nor told twice. What was granted is the {@link Admission}'s before
 * anybody learns of it: if the client has left meanwhile, it goes back from there.
 */
final class Answer implements CoreSubscriber<Decision> {

    /** How an ask ended: by a denial, by an error, or with neither of them. */
    record Outcome(
            @Nullable RateLimitDenial denial, @Nullable Throwable error) {

        static final Outcome PASS = new Outcome(null, null);

        Mono<Optional<RateLimitDenial>> toMono() {
            return error == null ? Mono.just(Optional.ofNullable(denial)) : Mono.error(error);
        }
    }

    private final RuleAsk ask;
    private final Admission admission;
    private final ServerWebExchange exchange;
    private final Context context;

    /** Null, an {@link Outcome}, or the sink for it. */
    private final AtomicReference<@Nullable Object> state = new AtomicReference<>();

    private @Nullable Subscription subscription;
    private boolean decided;

    private Answer(RuleAsk ask, Admission admission, ServerWebExchange exchange, Context context) {
        this.ask = ask;
        this.admission = admission;
        this.exchange = exchange;
        this.context = context;
    }

    /** Asks the limiter of the rule, which never waits. */
    static Answer of(RuleAsk ask, Admission admission, ServerWebExchange exchange, Context context) {
        Answer answer = new Answer(ask, admission, exchange, context);
        RateLimiter limiter = ask.rule().limiter();
        try {
            limiter.tryAcquire(ask.key(), ask.permits()).subscribe(answer);
        } catch (RuntimeException refused) {
            answer.onError(refused);
        }
        return answer;
    }

    /** Null if it is not there yet. */
    @Nullable
    Outcome outcome() {
        return state.get() instanceof Outcome outcome ? outcome : null;
    }

    /** The outcome, when it is there; to be asked for once. Cancelling cancels the ask. */
    Mono<Optional<RateLimitDenial>> later() {
        Sinks.One<Optional<RateLimitDenial>> sink = Sinks.one();
        if (state.compareAndSet(null, sink)) {
            return sink.asMono().doOnCancel(this::cancel);
        }
        return ((Outcome) Objects.requireNonNull(state.get())).toMono();
    }

    private void cancel() {
        if (subscription != null) {
            subscription.cancel();
        }
    }

    @Override
    public Context currentContext() {
        CallerThread thread = ConnectionThread.of(exchange);
        return thread == null ? context : RateLimitContext.answersOn(thread).apply(context);
    }

    @Override
    public void onSubscribe(Subscription newSubscription) {
        subscription = newSubscription;
        newSubscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Decision decision) {
        decided = true;
        if (decision.allowed()) {
            admission.add(new Grant(ask.rule(), ask.rule().limiter(), decision, null));
            end(Outcome.PASS);
        } else {
            end(new Outcome(RateLimitDenial.by(ask.rule(), decision), null));
        }
    }

    @Override
    public void onError(Throwable error) {
        if (!decided) {
            end(
                    error instanceof RateLimitException failure
                            ? new Outcome(Asking.denialBy(ask.rule(), failure), null)
                            : new Outcome(null, error));
        }
    }

    /** A limiter that tells nothing has not let anybody pass. */
    @Override
    public void onComplete() {
        if (!decided) {
            end(new Outcome(RateLimitDenial.failed(ask.rule()), null));
        }
    }

    @SuppressWarnings("unchecked")
    private void end(Outcome outcome) {
        if (!state.compareAndSet(null, outcome) && state.get() instanceof Sinks.One<?> sink) {
            Sinks.One<Optional<RateLimitDenial>> waiting = (Sinks.One<Optional<RateLimitDenial>>) sink;
            if (outcome.error() == null) {
                waiting.tryEmitValue(Optional.ofNullable(outcome.denial()));
            } else {
                waiting.tryEmitError(outcome.error());
            }
        }
    }
}

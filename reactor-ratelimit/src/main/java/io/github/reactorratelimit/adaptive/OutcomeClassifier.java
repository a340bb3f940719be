package io.github.reactorratelimit.adaptive;

import io.github.reactorratelimit.RateLimitException;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Finds the outcome of a call. A denial of our own limiters is ignored: the call never reached the
 * downstream.
 */
record OutcomeClassifier(
        Function<? super Throwable, CallOutcome> ofFailures, Function<? super Object, CallOutcome> ofValues) {

    OutcomeClassifier {
        Objects.requireNonNull(ofFailures, "outcome of failures");
        Objects.requireNonNull(ofValues, "outcome of values");
    }

    static OutcomeClassifier defaults() {
        return new OutcomeClassifier(
                failure -> failure instanceof TimeoutException || failure instanceof IOException
                        ? CallOutcome.OVERLOAD
                        : CallOutcome.IGNORED,
                value -> CallOutcome.SUCCESS);
    }

    CallOutcome ofFailure(Throwable failure, ContextView context) {
        Throwable cause = Exceptions.unwrap(failure);
        return cause instanceof RateLimitException ? CallOutcome.IGNORED : read(ofFailures, cause, context);
    }

    CallOutcome ofValue(Object value, ContextView context) {
        return read(ofValues, value, context);
    }

    /** A classifier that throws does not fail the call. */
    private static <V> CallOutcome read(Function<? super V, CallOutcome> outcomes, V of, ContextView context) {
        try {
            return Objects.requireNonNull(outcomes.apply(of), "the outcome that was given");
        } catch (Throwable failure) {
            Exceptions.throwIfFatal(failure);
            Operators.onErrorDropped(failure, Context.of(context));
            return CallOutcome.IGNORED;
        }
    }
}

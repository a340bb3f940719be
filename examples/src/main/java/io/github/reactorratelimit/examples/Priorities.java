package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.fairness.FairShare;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** One limit for two kinds of calls: those that a person waits for go before reports, which had come first. */
public final class Priorities {

    private final FairShare model = FairShare.over(RateLimiter.of(ConcurrencyLimit.of(1)), "model")
            .classes("interactive", "batch")
            .build();

    private Priorities() {}

    private Mono<Void> call(String callClass, String what, Mono<Void> work) {
        return Mono.defer(() -> {
                    System.out.println(what);
                    return work;
                })
                .transform(limitRate(model.limiter(callClass), spec -> spec.key("tenant")));
    }

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        Priorities service = new Priorities();
        Sinks.Empty<Void> firstReport = Sinks.empty();

        Mono.when(
                        service.call("batch", "report 1", firstReport.asMono()),
                        service.call("batch", "report 2", Mono.empty()),
                        service.call("batch", "report 3", Mono.empty()),
                        service.call("interactive", "question 1", Mono.empty()),
                        service.call("interactive", "question 2", Mono.empty()),
                        Mono.fromRunnable(firstReport::tryEmitEmpty))
                .block();
    }
}

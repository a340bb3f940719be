package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Sends every call to a service through one limiter. The limiter is a field: one made inside {@link
 * #quote} would be new for each call and limit nothing.
 */
public final class SharedCall {

    private final RateLimiter limiter = RateLimiter.of(TokenBucket.perMinute(6).withBurst(3));

    private SharedCall() {}

    /** The service is not called before the permit is there. */
    private Mono<String> quote(String symbol) {
        return fetch(symbol)
                .transform(limitRate(limiter, spec -> spec.key("quotes").reject()));
    }

    private static Mono<String> fetch(String symbol) {
        return Mono.fromSupplier(() -> symbol + " costs " + symbol.length() * 100);
    }

    private static String denied(RateLimitExceededException denial) {
        long seconds = denial.decision().retryAfter().map(Duration::toSeconds).orElse(0L);
        return "denied, come back in " + (seconds + 1) + " s";
    }

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        SharedCall service = new SharedCall();
        System.out.println("5 calls, 3 of them at once, then one each 10 seconds");
        Flux.just("A", "BB", "CCC", "DDDD", "EEEEE")
                .concatMap(symbol -> service.quote(symbol)
                        .onErrorResume(RateLimitExceededException.class, denial -> Mono.just(denied(denial))))
                .doOnNext(System.out::println)
                .blockLast();
    }
}

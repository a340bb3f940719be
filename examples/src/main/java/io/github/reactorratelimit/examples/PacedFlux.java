package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.TokenBucket;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Timed;

/** Paces a stream: five elements pass at once, the others leave six a second. */
public final class PacedFlux {

    private static final long MILLIS_PER_MARK = 50;

    private PacedFlux() {}

    /**
     * Runs the example, which ends by itself after two and a half seconds.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        System.out.println("20 orders through TokenBucket.perSecond(6).withBurst(5)");
        Flux.range(1, 20)
                .transform(limitRate(TokenBucket.perSecond(6).withBurst(5)))
                .timed()
                .doOnNext(PacedFlux::print)
                .blockLast();
    }

    private static void print(Timed<Integer> departure) {
        long millis = departure.elapsedSinceSubscription().toMillis();
        String bar = "=".repeat((int) (millis / MILLIS_PER_MARK));
        System.out.printf("order %2d %5d ms %s>%n", departure.get(), millis, bar);
    }
}

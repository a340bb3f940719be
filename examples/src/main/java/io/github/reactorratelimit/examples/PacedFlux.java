package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.TokenBucket;
import java.util.concurrent.TimeUnit;
import reactor.core.publisher.Flux;

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
        long startNanos = System.nanoTime();

        Flux.range(1, 20)
                .transform(limitRate(TokenBucket.perSecond(6).withBurst(5)))
                .doOnNext(order -> printDeparture(order, System.nanoTime() - startNanos))
                .blockLast();
    }

    private static void printDeparture(int order, long elapsedNanos) {
        long elapsedMillis = TimeUnit.NANOSECONDS.toMillis(elapsedNanos);
        String bar = "=".repeat((int) (elapsedMillis / MILLIS_PER_MARK));
        System.out.printf("order %2d %5d ms %s>%n", order, elapsedMillis, bar);
    }
}

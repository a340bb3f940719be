package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.time.Duration;
import reactor.core.publisher.Flux;

/** Answers of a language model are paid by the token, and how many they take is known only afterwards. */
public final class SettledTokens {

    private record Chunk(String text, int tokens) {}

    private final RateLimiter tokens = RateLimiter.of(TokenBucket.of(1_000, Duration.ofDays(1)));

    private SettledTokens() {}

    /** Reserves 200 tokens before the model is asked; when the answer ends, it has cost what it really took. */
    private Flux<Chunk> ask(String question, int chunks) {
        return model(question, chunks)
                .transform(limitRate(
                        tokens,
                        spec -> spec.key("tenant")
                                .cost(200)
                                .chargeElements(Chunk::tokens)
                                .reject()));
    }

    private static Flux<Chunk> model(String question, int chunks) {
        return Flux.range(1, chunks).map(i -> new Chunk(question + ": part " + i, 30));
    }

    private void print(String what, Flux<Chunk> answer) {
        String end = answer.count()
                .map(chunks -> chunks + " chunks")
                .onErrorReturn(RateLimitExceededException.class, "denied")
                .block();
        long left = tokens.peek("tenant").blockOptional().orElseThrow().remaining();
        System.out.printf("%-15s %-9s %4d tokens left%n", what, end, left);
    }

    /**
     * Runs the example.
     *
     * @param args ignored
     */
    public static void main(String[] args) {
        SettledTokens service = new SettledTokens();

        service.print("a short answer", service.ask("short", 3));
        service.print("a long answer", service.ask("long", 12));
        service.print("one cut short", service.ask("cut", 12).take(2));
        service.print("one too long", service.ask("huge", 30)); // overdraws: what was said cannot be unsaid
        service.print("the next one", service.ask("next", 1));
    }
}

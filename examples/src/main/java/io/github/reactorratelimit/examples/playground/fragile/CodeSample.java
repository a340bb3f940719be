package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shape;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shaping;
import java.util.TreeSet;

/** The code of the client on the right, whole, to be copied. A test compiles every form of it. */
final class CodeSample {

    private static final String BASE = "io.github.reactorratelimit.";
    private static final String SPRING = "org.springframework.";
    private static final String CLIENT = SPRING + "web.reactive.function.client.";

    private CodeSample() {}

    static String of(Settings settings) {
        Shaping shaping = settings.shaping();
        boolean again = settings.retries() == Retries.AGAIN;
        String body = """
                class Downstream {

                    // One limiter for all calls to the server, whoever makes them.
                    %s
                    static final WebClient CLIENT = WebClient.builder()
                            .clientConnector(new ReactorClientHttpConnector(
                                    HttpClient.create().responseTimeout(Duration.ofSeconds(%d))))
                            %s.filter(%s)
                            .build();
                %s}
                """.formatted(
                        limiter(shaping),
                        FragileServer.PATIENCE.toSeconds(),
                        again ? retry() : "",
                        filter(shaping),
                        shaping.shape() == Shape.ADAPTIVE ? outcome() : "");
        return imports(shaping, again) + "\n" + body;
    }

    private static String limiter(Shaping shaping) {
        return switch (shaping.shape()) {
            case LEAKY_BUCKET, RETRY_AFTER -> limiter("LeakyBucket.perSecond(" + shaping.rate() + ")");
            case CONCURRENCY -> limiter("ConcurrencyLimit.of(" + shaping.inFlight() + ")");
            case ADAPTIVE ->
                """
                    private static final AdaptiveLimiter LIMITER =
                            AdaptiveLimiter.builder(AdaptiveRate.gradient(%d, %d, Duration.ofSeconds(1)))
                                    .valueOutcome(Downstream::outcome)
                                    .overloadWhen(failure -> failure instanceof WebClientRequestException)
                                    .build();
                """.formatted(Shaper.Adaptive.FLOOR, Shaper.Adaptive.CEILING).strip() + "\n";
        };
    }

    private static String limiter(String policy) {
        return "private static final RateLimiter LIMITER =\n            RateLimiter.of(" + policy + ");\n";
    }

    /** Registered first, so that each attempt asks the limiter. */
    private static String retry() {
        return ".filter(RateLimitExchangeRetry.of(RateLimitRetry.atMost(" + Client.MOST_RETRIES + ")\n"
                + "                    .filter(failure -> failure instanceof WebClientException)))\n            ";
    }

    private static String filter(Shaping shaping) {
        String maxWait = "Duration.ofMillis(" + shaping.maxWait().toMillis() + ")";
        return switch (shaping.shape()) {
            case ADAPTIVE ->
                "(request, next) ->\n                    next.exchange(request).transform(LIMITER.limitCalls(" + maxWait
                        + "))";
            case RETRY_AFTER -> "RateLimitExchangeFilter.of(LIMITER, spec -> spec.maxWait(" + maxWait + "))";
            case LEAKY_BUCKET, CONCURRENCY ->
                "RateLimitExchangeFilter.of(\n                    LIMITER, spec -> spec.maxWait(" + maxWait
                        + ").withoutLearning())";
        };
    }

    private static String outcome() {
        return """

                    private static CallOutcome outcome(Object answer) {
                        HttpStatusCode status = ((ClientResponse) answer).statusCode();
                        return status.value() == 429 || status.is5xxServerError()
                                ? CallOutcome.OVERLOAD
                                : CallOutcome.SUCCESS;
                    }
                """;
    }

    private static String imports(Shaping shaping, boolean again) {
        TreeSet<String> names = new TreeSet<>();
        names.add("java.time.Duration");
        names.add("reactor.netty.http.client.HttpClient");
        names.add(SPRING + "http.client.reactive.ReactorClientHttpConnector");
        names.add(CLIENT + "WebClient");
        if (shaping.shape() == Shape.ADAPTIVE) {
            names.add(BASE + "adaptive.AdaptiveLimiter");
            names.add(BASE + "adaptive.AdaptiveRate");
            names.add(BASE + "adaptive.CallOutcome");
            names.add(SPRING + "http.HttpStatusCode");
            names.add(CLIENT + "ClientResponse");
            names.add(CLIENT + "WebClientRequestException");
        } else {
            names.add(BASE + (shaping.shape() == Shape.CONCURRENCY ? "ConcurrencyLimit" : "LeakyBucket"));
            names.add(BASE + "RateLimiter");
            names.add(BASE + "webflux.client.RateLimitExchangeFilter");
        }
        if (again) {
            names.add(BASE + "retry.RateLimitRetry");
            names.add(BASE + "webflux.client.RateLimitExchangeRetry");
            names.add(CLIENT + "WebClientException");
        }
        StringBuilder lines = new StringBuilder();
        names.forEach(name -> lines.append("import ").append(name).append(";\n"));
        return lines.toString();
    }
}

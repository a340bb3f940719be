package io.github.reactorratelimit.examples.playground.live;

import io.github.reactorratelimit.examples.playground.live.Settings.Limits;
import io.github.reactorratelimit.examples.playground.live.Settings.Mode;
import java.util.TreeSet;

/** The code that does what the page shows, whole, to be copied. A test compiles every form of it. */
final class CodeSample {

    private static final String BASE = "io.github.reactorratelimit.";

    private CodeSample() {}

    static String of(Settings settings) {
        String policy = policy(settings.shown(), settings.limits());
        String waiting = waiting(settings);
        String body = """
                class Calls {

                    // One limiter for all calls: made in the method, it would limit nothing.
                    private static final RateLimiter LIMITER =
                            RateLimiter.of(%s);

                    static <T> Mono<T> limited(Mono<T> call) {
                        return call.transform(limitRate(LIMITER, spec -> spec.key("orders")%s));
                    }
                }
                """.formatted(policy, waiting);
        return imports(policy, waiting) + "\n" + body;
    }

    private static String imports(String policy, String waiting) {
        TreeSet<String> names = new TreeSet<>();
        names.add(BASE + "RateLimiter");
        names.add(BASE + policy.substring(0, policy.indexOf('.')));
        names.add("reactor.core.publisher.Mono");
        if (policy.contains("Duration.") || waiting.contains("Duration.")) {
            names.add("java.time.Duration");
        }
        StringBuilder lines = new StringBuilder("import static " + BASE + "operator.RateLimitOperators.limitRate;\n\n");
        names.forEach(name -> lines.append("import ").append(name).append(";\n"));
        return lines.toString();
    }

    private static String policy(Kind kind, Limits limits) {
        String perWindow = ".of(" + limits.perWindow() + ", Duration.ofSeconds(" + limits.windowSeconds() + "))";
        String perSecond = ".perSecond(" + limits.rate() + ")";
        return switch (kind) {
            case TOKEN_BUCKET -> "TokenBucket" + perSecond + ".withBurst(" + limits.burst() + ")";
            case GCRA -> "Gcra" + perSecond + ".withBurst(" + limits.burst() + ")";
            case LEAKY_BUCKET -> "LeakyBucket" + perSecond + ".withQueue(" + limits.queue() + ")";
            case FIXED_WINDOW -> "FixedWindow" + perWindow;
            case SLIDING_LOG -> "SlidingWindowLog" + perWindow;
            case SLIDING_COUNTER -> "SlidingWindowCounter" + perWindow;
            case CONCURRENCY -> "ConcurrencyLimit.of(" + limits.inFlight() + ")";
        };
    }

    private static String waiting(Settings settings) {
        return settings.mode() == Mode.REJECT
                ? ".reject()"
                : ".maxWait(Duration.ofMillis(" + settings.maxWait().toMillis() + "))";
    }
}

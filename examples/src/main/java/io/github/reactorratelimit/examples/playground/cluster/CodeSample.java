package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.examples.playground.cluster.Settings.Asking;

/** The code of each instance, whole, to be copied. A test compiles every form of it. */
final class CodeSample {

    private CodeSample() {}

    static String of(Settings settings) {
        String mode = switch (settings.failure()) {
            case OPEN -> "FailureMode.open()";
            case CLOSED -> "FailureMode.closed()";
            case LOCAL -> "FailureMode.local(POLICY.share(" + Settings.INSTANCES + "))";
        };
        String leasing = settings.asking() == Asking.LEASES ? "\n                    .leasing()" : "";
        return """
                import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

                import io.github.reactorratelimit.RateLimiter;
                import io.github.reactorratelimit.TokenBucket;
                import io.github.reactorratelimit.redis.FailureMode;
                import io.github.reactorratelimit.redis.RedisStore;
                import reactor.core.publisher.Mono;

                class Calls {

                    private static final TokenBucket POLICY = TokenBucket.perSecond(%d).withBurst(%d);

                    // The same in every instance: who has the same name and key shares the limit.
                    private static final RateLimiter LIMITER = RateLimiter.builder(POLICY)
                            .name("orders")
                            .store(RedisStore.connectAside("redis://localhost:6379")%s
                                    .whenUnavailable(%s))
                            .build();

                    static <T> Mono<T> limited(Mono<T> call) {
                        return call.transform(limitRate(LIMITER, spec -> spec.key("orders").reject()));
                    }
                }
                """.formatted(settings.policy().refill(), settings.policy().capacity(), leasing, mode);
    }
}

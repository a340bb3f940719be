import static io.github.reactorratelimit.RateLimiter.permits;
import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.*;
import io.github.reactorratelimit.adaptive.*;
import io.github.reactorratelimit.fairness.FairShare;
import io.github.reactorratelimit.hotkeys.HotKey;
import io.github.reactorratelimit.hotkeys.HotKeys;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.micrometer.AdaptiveGauges;
import io.github.reactorratelimit.micrometer.MicrometerRecorder;
import io.github.reactorratelimit.operator.LimitSpec;
import io.github.reactorratelimit.operator.RateLimitOperators;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.retry.RateLimitRetry;
import io.github.reactorratelimit.retry.RetryBudget;
import io.github.reactorratelimit.local.SketchStore;
import io.github.reactorratelimit.spi.CompareAndSwapEngine;
import io.github.reactorratelimit.spi.CompareAndSwapStore;
import io.github.reactorratelimit.spi.StoreUnavailableException;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.io.IOException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What the examples in the documentation take for granted: a small shop. */
record Order(String customerId, int lines) {}

record Quote(String symbol, long cents) {}

interface Quotes {
    Mono<Quote> fetch(String symbol);

    Flux<Quote> stream(String symbol);

    Quote lastKnown(String symbol);
}

record Chunk(String text, int tokens) {}

record Answer(String text, long tokens) {}

interface Model {
    Flux<Chunk> stream(String prompt);

    Mono<Answer> complete(String prompt);
}

record Session(String user) {}

interface Accounts {
    Mono<Session> logIn(String user, String password);
}

interface Plans {
    Mono<RateLimitPolicy> policyOf(String customerId);
}

interface Log {
    void warn(String message, Object... arguments);
}

/** The names in scope of statements and members. */
abstract class Prelude {

    static Flux<Order> orders = Flux.range(1, 1_000_000).map(i -> new Order("customer " + i % 10, 1 + i % 3));
    static Order order;
    static Quotes quotes;
    static Model model;
    static Accounts accounts;
    static Plans plans;
    static MeterRegistry registry;
    static RateLimitPolicy policy;
    static RateLimiter limiter;
    static AdaptiveLimiter exchange;
    static CompareAndSwapEngine engine;
    static RateLimiter byPlan;
    static RateLimiter perIp;
    static RateLimiter perUser;
    static RateLimiter global;
    static Log log;
    static String symbol;
    static String ip;
    static String user;
    static String password;
    static String prompt;

    static Mono<Void> ship(Order order) {
        return Mono.empty();
    }
}

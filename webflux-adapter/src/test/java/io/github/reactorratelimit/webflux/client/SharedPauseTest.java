package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.KEY;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.redis.FailureMode;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.Standalone;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/** Two processes that call the same server, and share their limit in Redis. */
class SharedPauseTest {

    private static final Duration PATIENCE = ofMinutes(1);

    private final Standalone redis = Standalone.start();
    private final List<RedisStore> stores = new ArrayList<>();

    @AfterEach
    void close() {
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
        redis.close();
    }

    private RateLimiter process(RateLimitPolicy policy, UnaryOperator<RedisStore> options) {
        RedisStore store = RedisStore.connect(redis.uri()).block(PATIENCE);
        stores.add(store);
        return RateLimiter.builder(policy)
                .name("outbound")
                .store(options.apply(store))
                .build();
    }

    private RateLimiter process(RateLimitPolicy policy) {
        return process(policy, store -> store.withDeadline(PATIENCE));
    }

    private static RateLimitExchangeFilter filter(RateLimiter limiter) {
        return RateLimitExchangeFilter.of(limiter, spec -> spec.learn(learn -> learn.maxPause(ofHours(9))));
    }

    private static Duration pause(RateLimiter limiter) {
        return limiter.tryAcquire(KEY).block(PATIENCE).retryAfter().orElse(Duration.ZERO);
    }

    @Test
    void whatOneProcessReadsPausesTheOtherAndIsNotCutShortByWhatThatReads() {
        RateLimiter one = process(TokenBucket.perHour(1_000));
        RateLimiter other = process(TokenBucket.perHour(1_000));
        Sinks.One<ClientResponse> underWay = Sinks.one();
        AtomicReference<ClientResponse> answered = new AtomicReference<>();
        FakeServer slow = new FakeServer(number -> underWay.asMono());
        RateLimitExchangeFilter others = filter(other);
        others.filter(GET, slow).subscribe(answered::set);
        Await.until("the other call is under way", () -> slow.arrivalsMillis().size() == 1);

        filter(one)
                .filter(GET, FakeServer.saying(answer(429, "Retry-After", "7200")))
                .block(PATIENCE);
        Await.until("the other is paused", () -> pause(other).compareTo(ofHours(1)) > 0);
        underWay.tryEmitValue(answer(429, "Retry-After", "60"));

        Await.until("answered", () -> answered.get() != null);
        assertThat(others.learned()).isEqualTo(new ServerLimitStats(1, 0, 0, 0));
        other.peek(KEY).block(PATIENCE);
        assertThat(pause(one)).isBetween(ofHours(1), ofHours(2));
        assertThat(pause(other)).isBetween(ofHours(1), ofHours(2));
    }

    @Test
    void pauseIsKnownToRedisBeforeWhoeverReadsTheAnswerAsks() {
        RateLimiter limiter = process(TokenBucket.perHour(1_000));

        Boolean allowed = filter(limiter)
                .filter(GET, FakeServer.saying(answer(503, "Retry-After", "7200")))
                .flatMap(refused -> limiter.tryAcquire(KEY))
                .map(decision -> decision.allowed())
                .block(PATIENCE);

        assertThat(allowed).isFalse();
    }

    @Test
    void thoseWhoWaitInTheOtherProcessAreTimedAnew() {
        RateLimiter one = process(new LeakyBucket(1, ofMinutes(20), 100));
        RateLimiter other = process(new LeakyBucket(1, ofMinutes(20), 100));
        FakeServer refusing = FakeServer.saying(answer(429, "Retry-After", "7200"));
        Sinks.One<ClientResponse> underWay = Sinks.one();
        FakeServer slow = new FakeServer(number -> underWay.asMono());
        filter(one).filter(GET, slow).subscribe();
        Await.until("the first is under way", () -> slow.arrivalsMillis().size() == 1);
        AtomicReference<Throwable> denied = new AtomicReference<>();
        RateLimitExchangeFilter.of(other, spec -> spec.maxWait(ofHours(1)))
                .filter(GET, refusing)
                .subscribe(answer -> {}, denied::set);
        Await.until("the other waits", () -> pause(one).compareTo(ofMinutes(21)) > 0);

        underWay.tryEmitValue(answer(429, "Retry-After", "7200"));

        Await.until("denied", () -> denied.get() != null);
        assertThat(denied.get()).isInstanceOf(RateLimitExceededException.class);
        assertThat(refusing.arrivalsMillis()).isEmpty();
    }

    @Test
    void answerIsPassedOnWhileRedisIsAwayAndThePauseIsCountedAsLost() {
        RateLimiter limiter = process(
                TokenBucket.perHour(1_000),
                store -> store.withDeadline(Duration.ofSeconds(1)).whenUnavailable(FailureMode.open()));
        RateLimitExchangeFilter filter = filter(limiter);
        redis.close();

        ClientResponse refused = filter.filter(GET, FakeServer.saying(answer(429, "Retry-After", "7200")))
                .block(PATIENCE);

        assertThat(refused.statusCode().value()).isEqualTo(429);
        Await.until("counted", () -> filter.learned().equals(new ServerLimitStats(1, 0, 0, 1)));
    }
}

package io.github.reactorratelimit;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.operator.RateLimitOperators;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Mistakes that limit nothing, or for ever, are named in the log. */
class HintTest {

    private static final TokenBucket POLICY = TokenBucket.perHour(1);

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final List<Logger> loggers = Stream.of(RateLimiter.class, RateLimitOperators.class)
            .map(type -> (Logger) LoggerFactory.getLogger(type))
            .toList();

    @BeforeEach
    void listen() {
        log.start();
        loggers.forEach(logger -> logger.addAppender(log));
    }

    @AfterEach
    void stopListening() {
        loggers.forEach(logger -> logger.detachAppender(log));
        VirtualTimeScheduler.reset();
    }

    private List<String> warnings() {
        return log.list.stream()
                .filter(event -> event.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    @Test
    void streamOnALimiterThatWasBuiltBeforeVirtualTimeIsNamedOnce() {
        RateLimiter limiter = RateLimiter.builder(POLICY).name("orders").build();
        StepVerifier.withVirtualTime(() -> Flux.range(1, 2).transform(limitRate(limiter)))
                .expectNext(1)
                .thenAwait(ofHours(1))
                .then(() -> assertThat(warnings()).hasSize(1))
                .thenCancel()
                .verify();
        limiter.acquire("k").subscribe().dispose();
        assertThat(warnings()).hasSize(1);
        assertThat(warnings().get(0)).contains("'orders'", "withVirtualTime", "build it inside");
        limiter.dispose();
    }

    @Test
    void waitForALimiterThatWasBuiltBeforeVirtualTimeIsNamed() {
        RateLimiter limiter = RateLimiter.of(POLICY);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isTrue();
        VirtualTimeScheduler.getOrSet();
        limiter.acquire("k").subscribe().dispose();
        assertThat(warnings()).hasSize(1);
        limiter.dispose();
    }

    @Test
    void requestForAKeyWithItsOwnPolicyIsNamedToo() {
        RateLimiter limiter = RateLimiter.builder(POLICY)
                .policyPerKey(key -> Mono.just(POLICY), ofHours(1))
                .build();
        VirtualTimeScheduler.getOrSet();
        limiter.tryAcquire("k").subscribe().dispose();
        assertThat(warnings()).hasSize(1);
        limiter.dispose();
    }

    @Test
    void denialByALimiterThatWasBuiltBeforeVirtualTimeIsNamed() {
        RateLimiter limiter = RateLimiter.of(POLICY);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isTrue();
        VirtualTimeScheduler.getOrSet().advanceTimeBy(ofHours(2));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1))
                .as("in real time")
                .isFalse();
        assertThat(warnings()).hasSize(1);
        limiter.dispose();
    }

    @Test
    void limiterThatFollowsItsClockIsNotNamed() {
        StepVerifier.withVirtualTime(() -> Flux.range(1, 2).transform(limitRate(RateLimiter.of(POLICY))))
                .expectNext(1)
                .thenAwait(ofHours(1))
                .expectNext(2)
                .verifyComplete();
        RateLimiter real = RateLimiter.of(POLICY);
        assertThat(DirectLimiter.of(real).tryAcquireNow("k", 1)).isTrue();
        assertThat(DirectLimiter.of(real).tryAcquireNow("k", 1)).isFalse();
        RateLimiter chosen =
                RateLimiter.builder(POLICY).scheduler(Schedulers.single()).build();
        VirtualTimeScheduler.getOrSet();
        assertThat(chosen.tryAcquire("k").block().allowed()).isTrue();
        assertThat(warnings()).isEmpty();
    }

    private static Flux<Integer> request() {
        return Flux.just(1).transform(limitRate(POLICY));
    }

    @Test
    void limiterPerRequestIsNamedOnceWithItsCallSite() {
        VirtualTimeScheduler.getOrSet();
        for (int i = 0; i < 99; i++) {
            assertThat(request().blockLast()).isEqualTo(1);
        }
        assertThat(warnings()).isEmpty();
        for (int i = 0; i < 500; i++) {
            assertThat(request().blockLast()).isEqualTo(1);
        }
        assertThat(warnings()).hasSize(1);
        assertThat(warnings().get(0)).contains("HintTest.request(HintTest.java:", "Share one");
    }

    @Test
    void limitersOfManyPlacesAreNotNamed() {
        VirtualTimeScheduler.getOrSet();
        for (int i = 0; i < 60; i++) {
            limitRate(POLICY);
            limitRate(POLICY);
        }
        assertThat(warnings()).isEmpty();
    }

    @Test
    void limitersOverALongTimeAreNotNamed() {
        VirtualTimeScheduler time = VirtualTimeScheduler.getOrSet();
        for (int i = 0; i < 500; i++) {
            limitRate(POLICY);
            time.advanceTimeBy(ofSeconds(1));
        }
        assertThat(warnings()).isEmpty();
    }
}

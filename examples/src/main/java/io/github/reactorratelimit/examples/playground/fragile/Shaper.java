package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.adaptive.AdaptiveLimiter;
import io.github.reactorratelimit.adaptive.AdaptiveRate;
import io.github.reactorratelimit.adaptive.CallOutcome;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shape;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shaping;
import io.github.reactorratelimit.webflux.client.RateLimitExchangeFilter;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** A real limiter as a filter of a {@code WebClient}, made as {@link CodeSample} shows it. */
interface Shaper extends ExchangeFilterFunction {

    /** Takes other settings of the same kind, while calls wait. */
    void change(Shaping shaping);

    /** The limit that it found out by itself, per second; null if it was given one. */
    @Nullable
    Long foundLimit();

    /** Whoever waits is told that it was closed. */
    void close();

    static Shaper of(Shaping shaping, Scheduler scheduler, RateLimitRecorder recorder) {
        return shaping.shape() == Shape.ADAPTIVE
                ? new Adaptive(shaping, scheduler, recorder)
                : new Given(shaping, scheduler, recorder);
    }

    /** A limit that somebody has given, with or without pauses that answers teach. */
    final class Given implements Shaper {

        private final RateLimiter limiter;
        private volatile RateLimitExchangeFilter filter;

        private Given(Shaping shaping, Scheduler scheduler, RateLimitRecorder recorder) {
            this.limiter = RateLimiter.builder(policy(shaping))
                    .scheduler(scheduler)
                    .recorder(recorder)
                    .build();
            this.filter = filter(shaping, limiter);
        }

        private static RateLimitPolicy policy(Shaping shaping) {
            return shaping.shape() == Shape.CONCURRENCY
                    ? ConcurrencyLimit.of(shaping.inFlight())
                    : LeakyBucket.perSecond(shaping.rate());
        }

        private static RateLimitExchangeFilter filter(Shaping shaping, RateLimiter limiter) {
            return RateLimitExchangeFilter.of(
                    limiter,
                    spec -> shaping.shape() == Shape.RETRY_AFTER
                            ? spec.maxWait(shaping.maxWait())
                            : spec.maxWait(shaping.maxWait()).withoutLearning());
        }

        @Override
        public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
            return filter.filter(request, next);
        }

        @Override
        public void change(Shaping shaping) {
            filter = filter(shaping, limiter);
            RateLimitPolicy policy = policy(shaping);
            if (!policy.equals(limiter.policy())) {
                limiter.changePolicy(policy).subscribe();
            }
        }

        @Override
        public @Nullable Long foundLimit() {
            return null;
        }

        @Override
        public void close() {
            limiter.dispose();
        }
    }

    /** A limiter that nobody told what the server can bear. */
    final class Adaptive implements Shaper {

        static final int FLOOR = 5;
        static final int CEILING = 300;

        private final AdaptiveLimiter limiter;
        private volatile Duration maxWait;

        private Adaptive(Shaping shaping, Scheduler scheduler, RateLimitRecorder recorder) {
            this.limiter = AdaptiveLimiter.builder(AdaptiveRate.gradient(FLOOR, CEILING, Duration.ofSeconds(1)))
                    .valueOutcome(Adaptive::outcome)
                    .overloadWhen(failure -> failure instanceof WebClientRequestException)
                    .scheduler(scheduler)
                    .recorder(recorder)
                    .build();
            this.maxWait = shaping.maxWait();
        }

        private static CallOutcome outcome(Object answer) {
            HttpStatusCode status = ((ClientResponse) answer).statusCode();
            return status.value() == 429 || status.is5xxServerError() ? CallOutcome.OVERLOAD : CallOutcome.SUCCESS;
        }

        @Override
        public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
            return next.exchange(request).transform(limiter.limitCalls(maxWait));
        }

        @Override
        public void change(Shaping shaping) {
            maxWait = shaping.maxWait();
        }

        @Override
        public Long foundLimit() {
            return limiter.currentLimit();
        }

        @Override
        public void close() {
            limiter.dispose();
        }
    }
}

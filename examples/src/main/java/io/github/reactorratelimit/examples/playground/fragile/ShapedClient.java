package io.github.reactorratelimit.examples.playground.fragile;

import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.examples.playground.Counts;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shaping;
import io.github.reactorratelimit.retry.RateLimitRetry;
import io.github.reactorratelimit.webflux.client.RateLimitExchangeRetry;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientException;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** Calls wait for their turn, and what failed is not tried again before the time that the refusal named. */
final class ShapedClient implements Client {

    private final Scheduler scheduler;
    private final Counts counts = new Counts();
    private final RateLimitExchangeRetry retry;
    private Shaping shaping;
    private volatile Shaper shaper;

    ShapedClient(Shaping shaping, Scheduler scheduler) {
        this.scheduler = scheduler;
        this.retry = RateLimitExchangeRetry.of(RateLimitRetry.atMost(MOST_RETRIES)
                .filter(WebClientException.class::isInstance)
                .withScheduler(scheduler));
        this.shaping = shaping;
        this.shaper = Shaper.of(shaping, scheduler, counts);
    }

    @Override
    public Mono<Void> call(ExchangeFunction server, Retries retries) {
        ExchangeFunction shaped = request -> shaped(request, server);
        return Client.read(retries == Retries.NEVER ? shaped.exchange(REQUEST) : retry.filter(REQUEST, shaped));
    }

    /** Who waits at a limiter that was replaced asks the one in its place. */
    private Mono<ClientResponse> shaped(ClientRequest request, ExchangeFunction server) {
        Shaper asked = shaper;
        return asked.filter(request, server)
                .onErrorResume(
                        RateLimiterClosedException.class,
                        closed -> asked == shaper ? Mono.error(closed) : shaped(request, server));
    }

    /** Told by one thread at a time, of which calls wait for their turn meanwhile. */
    void change(Shaping changed) {
        boolean sameShape = changed.shape() == shaping.shape();
        shaping = changed;
        if (sameShape) {
            shaper.change(changed);
            return;
        }
        Shaper before = shaper;
        shaper = Shaper.of(changed, scheduler, counts);
        before.close();
    }

    @Nullable
    Long foundLimit() {
        return shaper.foundLimit();
    }

    long waiting() {
        return counts.waiting();
    }

    long denied() {
        return counts.denied();
    }

    void close() {
        shaper.close();
    }
}

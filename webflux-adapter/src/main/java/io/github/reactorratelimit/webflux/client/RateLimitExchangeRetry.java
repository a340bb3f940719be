package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.retry.RateLimitRetry;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;

/**
 * Retries refused or failed calls of a {@code WebClient} that are safe to repeat, not before the time that the refusal names.
 *
 * <pre>{@code
 * WebClient.builder()
 *         .filter(RateLimitExchangeFilter.of(limiter)
 *                 .withRetry(RateLimitRetry.atMost(3).withBudget(budget)))
 * }</pre>
 *
 * <table>
 *   <caption>What is tried again</caption>
 *   <tr><th>failure</th><th>of which calls</th></tr>
 *   <tr><td>denied by our own limiter: nothing was sent</td><td>all</td></tr>
 *   <tr><td>status 429: the server did not do it</td><td>all</td></tr>
 *   <tr><td>status 502, 503 or 504</td><td>those that can be repeated</td></tr>
 *   <tr><td>no answer ({@link WebClientRequestException})</td><td>those that can be repeated</td></tr>
 *   <tr><td>anything else</td><td>none</td></tr>
 * </table>
 *
 * <p>A call can be repeated if its method is GET, HEAD, PUT, DELETE, OPTIONS or TRACE, or if it has an
 * {@code Idempotency-Key}. Its body is written again for each attempt.
 *
 * <p>After the last attempt the caller receives that response unchanged. Other responses are released before the wait, so
 * that they hold no connection: a body is read to its end, but at most 64 KiB and for a second, and until the caller
 * cancels; the connection of a longer body is closed. The {@link RateLimitRetry} sees a refusal as a {@link
 * WebClientResponseException} without a body, and can exclude more.
 *
 * <p>Register it before the filter that limits, as {@link RateLimitExchangeFilter#withRetry} does, so that each attempt
 * requests permits.
 */
public final class RateLimitExchangeRetry implements ExchangeFilterFunction {

    private static final int TOO_MANY_REQUESTS = 429;
    private static final Set<Integer> MAY_PASS = Set.of(502, 503, 504);
    private static final Set<String> REPEATABLE = Set.of("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE");

    private final RateLimitRetry retry;

    private RateLimitExchangeRetry(RateLimitRetry retry) {
        this.retry = retry;
    }

    /** A filter that tries again as {@code retry} says, of what is worth it. */
    public static RateLimitExchangeRetry of(RateLimitRetry retry) {
        return new RateLimitExchangeRetry(aware(retry));
    }

    /**
     * The same without a filter, for {@code retryWhen} behind {@code retrieve()}: leaves out what must not be repeated, and waits until the time
     * in {@code Retry-After}.
     */
    public static RateLimitRetry aware(RateLimitRetry retry) {
        return Objects.requireNonNull(retry, "retry")
                .filter(RateLimitExchangeRetry::isWorthIt)
                .withRetryAfter(RateLimitExchangeRetry::namedBy);
    }

    @Override
    public Mono<ClientResponse> filter(ClientRequest request, ExchangeFunction next) {
        return Mono.deferContextual(context -> {
            RateLimitRetry.Course course = retry.begin(context);
            AtomicReference<Subscription> latest = new AtomicReference<>();
            Disposable.Swap refused = Disposables.swap();
            Mono<Attempt> attempt = Mono.defer(() -> next.exchange(request))
                    .doOnSubscribe(latest::set)
                    .map(answer -> new Attempt(answer, isRefusal(request, answer) ? refusal(request, answer) : null))
                    .onErrorResume(failure -> Mono.just(new Attempt(null, failure)));
            return inTurn(attempt, course, refused).doOnCancel(() -> {
                cancel(latest.get());
                refused.dispose();
            });
        });
    }

    /**
     * Attempts one after the other, none within the one before, however many there are.
     *
     * <p>Not by {@code retryWhen}, {@code repeatWhen} or {@code next}, which cancel the source before: the connector would
     * release the body of an answer that the caller gets. Nothing here cancels an attempt that has ended. A caller that
     * cancels before it reads the answer cancels the attempt, which gives up its connection.
     */
    private static Mono<ClientResponse> inTurn(
            Mono<Attempt> attempt, RateLimitRetry.Course course, Disposable.Swap refused) {
        return attempt.expand(
                        ended -> ended.untilNext(course, refused)
                                .map(wait -> wait.then(attempt))
                                .orElse(Mono.empty()),
                        1)
                .reduce((before, last) -> last)
                .flatMap(Attempt::outcome);
    }

    private static void cancel(@Nullable Subscription attempt) {
        if (attempt != null) {
            attempt.cancel();
        }
    }

    /** How an attempt ended: with an answer, with a failure, or with an answer that is one. */
    private record Attempt(
            @Nullable ClientResponse answer, @Nullable Throwable failure) {

        /**
         * Until the next attempt, which does not wait for the end of a refusal; empty if this was the last one.
         *
         * @param refused what is being read of a refusal: of one at a time
         */
        Optional<Mono<Void>> untilNext(RateLimitRetry.Course course, Disposable.Swap refused) {
            Optional<Mono<Void>> wait = failure == null
                    ? Optional.empty()
                    : course.afterFailure(failure).map(Mono::then);
            if (answer != null && wait.isPresent()) {
                refused.update(DiscardedBody.release(answer));
            }
            return wait;
        }

        Mono<ClientResponse> outcome() {
            return answer == null ? Mono.error(Objects.requireNonNull(failure)) : Mono.just(answer);
        }
    }

    private static Throwable refusal(ClientRequest request, ClientResponse answer) {
        return WebClientResponseException.create(
                answer.statusCode(),
                "",
                answer.headers().asHttpHeaders(),
                new byte[0],
                StandardCharsets.UTF_8,
                new RequestSnapshot(request));
    }

    private static boolean isRefusal(ClientRequest request, ClientResponse answer) {
        return isRefusal(answer.statusCode().value(), request.method().name(), request.headers());
    }

    private static boolean isRefusal(int status, String method, HttpHeaders headers) {
        return status == TOO_MANY_REQUESTS || (MAY_PASS.contains(status) && isRepeatable(method, headers));
    }

    private static boolean isWorthIt(Throwable failure) {
        if (failure instanceof WebClientResponseException refused) {
            int status = refused.getStatusCode().value();
            HttpRequest sent = refused.getRequest();
            return sent == null
                    ? status == TOO_MANY_REQUESTS
                    : isRefusal(status, sent.getMethod().name(), sent.getHeaders());
        }
        if (failure instanceof WebClientRequestException failed) {
            return isRepeatable(failed.getMethod().name(), failed.getHeaders());
        }
        return failure instanceof RateLimitExceededException;
    }

    private static boolean isRepeatable(String method, HttpHeaders headers) {
        String key = headers.getFirst("Idempotency-Key");
        return REPEATABLE.contains(method) || (key != null && !key.isBlank());
    }

    private static Optional<Duration> namedBy(Throwable failure) {
        return failure instanceof WebClientResponseException refused ? named(refused.getHeaders()) : Optional.empty();
    }

    /** Whatever a server writes, the caller sees the refusal. */
    private static Optional<Duration> named(HttpHeaders headers) {
        try {
            List<String> lines = headers.getOrEmpty(RetryAfter.FIELD);
            return RetryAfter.of(lines, headers.getFirst("Date"), Clock.systemUTC())
                    .time();
        } catch (RuntimeException malformed) {
            return Optional.empty();
        }
    }
}

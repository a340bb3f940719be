package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.retry.RateLimitRetry;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.publisher.Mono;

/**
 * Tries calls of a {@code WebClient} again that were refused or failed, if that does no harm, and not before the time that the refusal named.
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
 * <p>A call can be repeated if its method is GET, HEAD, PUT, DELETE, OPTIONS or TRACE, or if it has an {@code Idempotency-Key}. Its body is
 * written anew for each attempt.
 *
 * <p>In the end comes the last answer itself, with its status, as if there were no retries. Answers that are not passed on are released
 * before the wait, so that nobody holds a connection for it. The {@link RateLimitRetry} sees a refusal as a {@link
 * WebClientResponseException} without a body, and can leave out more.
 *
 * <p>Register it before the filter that limits, as {@link RateLimitExchangeFilter#withRetry} does, so that each attempt asks the limiter.
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
        return Mono.defer(() -> {
            Refusals refusals = new Refusals();
            return Mono.defer(() -> next.exchange(request))
                    .flatMap(answer -> isRefusal(request, answer) ? refusals.hold(request, answer) : Mono.just(answer))
                    .retryWhen(retry.doBeforeWait(failure -> refusals.release()))
                    .onErrorResume(refusals::answerOf)
                    .doOnCancel(refusals::release);
        });
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
        if (failure instanceof WebClientResponseException refused) {
            HttpHeaders headers = refused.getHeaders();
            String value = headers.getFirst(RetryAfter.FIELD);
            return value == null
                    ? Optional.empty()
                    : RetryAfter.parse(value, headers.getFirst("Date"), Clock.systemUTC());
        }
        return Optional.empty();
    }

    /** The last refusal of a call. Whoever takes it out passes its answer on or releases it. */
    private static final class Refusals {

        private record Refusal(ClientResponse answer, WebClientResponseException failure) {}

        private final AtomicReference<@Nullable Refusal> last = new AtomicReference<>();

        /** Fails as the answer does. */
        Mono<ClientResponse> hold(ClientRequest request, ClientResponse answer) {
            WebClientResponseException failure = WebClientResponseException.create(
                    answer.statusCode(),
                    "",
                    answer.headers().asHttpHeaders(),
                    new byte[0],
                    StandardCharsets.UTF_8,
                    new Sent(request));
            last.set(new Refusal(answer, failure));
            return Mono.error(failure);
        }

        /** The answer if it is what failed; else the failure. */
        Mono<ClientResponse> answerOf(Throwable failure) {
            Refusal held = last.get();
            if (held != null && held.failure == failure && last.compareAndSet(held, null)) {
                return Mono.just(held.answer);
            }
            release();
            return Mono.error(failure);
        }

        void release() {
            Refusal held = last.getAndSet(null);
            if (held != null) {
                held.answer.releaseBody().subscribe(done -> {}, lost -> {});
            }
        }
    }
}

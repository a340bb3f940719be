package io.github.reactorratelimit.webflux;

import java.util.List;
import java.util.Objects;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseCookie;
import org.springframework.util.CollectionUtils;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.server.HandlerFilterFunction;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/**
 * Limits the requests of a router function by rules of an engine.
 *
 * <pre>{@code
 * RouterFunctions.route()
 *         .POST("/reports", this::create)
 *         .filter(RateLimitHandlerFilter.of(engine, "reports"))
 *         .build();
 * }</pre>
 *
 * <p>A rule that the web filter has applied to the request already does not count it twice. Permits of a {@code ConcurrencyLimit} go back
 * when the response has been sent.
 */
public final class RateLimitHandlerFilter implements HandlerFilterFunction<ServerResponse, ServerResponse> {

    private final RateLimitEngine engine;
    private final List<RateLimitRule> rules;

    private RateLimitHandlerFilter(RateLimitEngine engine, List<RateLimitRule> rules) {
        this.engine = engine;
        this.rules = rules;
    }

    /**
     * Applies the rules of these names.
     *
     * @throws IllegalArgumentException if there is no name, or no rule of one of these names
     */
    public static RateLimitHandlerFilter of(RateLimitEngine engine, String... ruleNames) {
        return new RateLimitHandlerFilter(engine, engine.named(List.of(ruleNames)));
    }

    @Override
    public Mono<ServerResponse> filter(ServerRequest request, HandlerFunction<ServerResponse> next) {
        ServerWebExchange exchange = request.exchange();
        return engine.admit(
                exchange,
                rules,
                verdict -> verdict.passes()
                        ? handle(request, next)
                        : Mono.just(new Denied(Objects.requireNonNull(verdict.denial()), verdict.answer())));
    }

    private Mono<ServerResponse> handle(ServerRequest request, HandlerFunction<ServerResponse> next) {
        Mono<ServerResponse> handled = Mono.defer(() -> next.handle(request));
        if (rules.stream().noneMatch(RateLimitRule::isConcurrency)) {
            return handled;
        }
        Mono<Void> end = Admission.end(request.exchange());
        return handled.<ServerResponse>map(Releasing::new)
                .switchIfEmpty(end.then(Mono.empty()))
                .onErrorResume(error -> end.then(Mono.error(error)))
                .doOnCancel(end::subscribe);
    }

    /** The answer to a denied request. */
    private record Denied(RateLimitDenial denial, Mono<Void> answer) implements ServerResponse {

        @Override
        public HttpStatusCode statusCode() {
            return denial.status();
        }

        @Override
        public HttpHeaders headers() {
            return HttpHeaders.EMPTY;
        }

        @Override
        public MultiValueMap<String, ResponseCookie> cookies() {
            return CollectionUtils.unmodifiableMultiValueMap(new LinkedMultiValueMap<>());
        }

        @Override
        public Mono<Void> writeTo(ServerWebExchange exchange, Context context) {
            return answer;
        }
    }

    /** A response after which nothing is held any more. */
    private record Releasing(ServerResponse response) implements ServerResponse {

        @Override
        public HttpStatusCode statusCode() {
            return response.statusCode();
        }

        @Override
        public HttpHeaders headers() {
            return response.headers();
        }

        @Override
        public MultiValueMap<String, ResponseCookie> cookies() {
            return response.cookies();
        }

        @Override
        public Mono<Void> writeTo(ServerWebExchange exchange, Context context) {
            return Mono.usingWhen(
                    Mono.just(exchange),
                    held -> response.writeTo(held, context),
                    Admission::end,
                    (held, error) -> Admission.end(held),
                    Admission::end);
        }
    }
}

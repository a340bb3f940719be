package io.github.reactorratelimit.webflux;

import java.util.List;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Answers a denied request, unless somebody has answered it already. */
record DenialWriter(ResponseFields fields, DenialCors cors, RateLimitDeniedHandler handler) {

    Mono<Void> write(ServerWebExchange exchange, RateLimitDenial denial, List<Grant> before) {
        return Mono.defer(() -> {
            if (isCommitted(exchange)) {
                return Mono.empty();
            }
            return CrossOrigin.isCrossOrigin(exchange.getRequest())
                    ? cors.write(exchange).then(Mono.defer(() -> answer(exchange, denial, before)))
                    : answer(exchange, denial, before);
        });
    }

    private Mono<Void> answer(ServerWebExchange exchange, RateLimitDenial denial, List<Grant> before) {
        if (isCommitted(exchange)) {
            return Mono.empty();
        }
        ServerHttpResponse response = exchange.getResponse();
        response.setStatusCode(denial.status());
        return handler.handle(exchange, fields.writeDenied(denial, before, response));
    }

    private static boolean isCommitted(ServerWebExchange exchange) {
        return exchange.getResponse().isCommitted();
    }
}

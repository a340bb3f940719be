package io.github.reactorratelimit.benchmarks.web;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpStatus;
import org.springframework.web.server.WebFilter;

/** The floor of a denial: a status without a limiter, headers or a body. */
@Configuration(proxyBeanMethods = false)
class DenyingServer {

    @Bean
    WebFilter denyingFilter() {
        return (exchange, chain) -> {
            exchange.getResponse().setStatusCode(HttpStatus.TOO_MANY_REQUESTS);
            return exchange.getResponse().setComplete();
        };
    }
}

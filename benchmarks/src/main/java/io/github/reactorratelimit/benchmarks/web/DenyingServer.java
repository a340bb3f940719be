package io.github.reactorratelimit.benchmarks.web;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpStatus;
import org.springframework.web.server.WebFilter;

/** The least that a denial can cost: no limiter is asked, and the client is told nothing but the status. */
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

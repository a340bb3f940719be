package io.github.reactorratelimit.examples.playground;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.server.WebFilter;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** What the tabs share. */
@Configuration(proxyBeanMethods = false)
class PlaygroundConfiguration {

    private static final int THREADS = 2;

    /** Clock, timers and threads of all that is simulated; virtual time in tests. */
    @Bean(destroyMethod = "dispose")
    Scheduler simulationScheduler() {
        return Schedulers.newParallel("playground", THREADS, true);
    }

    /** The page loads nothing from elsewhere and is shown nowhere else; the browser holds it to that. */
    @Bean
    WebFilter securityHeaders() {
        return (exchange, chain) -> {
            exchange.getResponse()
                    .getHeaders()
                    .set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'");
            exchange.getResponse().getHeaders().set("X-Content-Type-Options", "nosniff");
            return chain.filter(exchange);
        };
    }
}

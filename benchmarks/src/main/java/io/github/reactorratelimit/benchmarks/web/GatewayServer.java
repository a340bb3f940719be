package io.github.reactorratelimit.benchmarks.web;

import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.cloud.gateway.filter.GatewayFilter;
import org.springframework.cloud.gateway.filter.factory.RequestRateLimiterGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.filter.ratelimit.RedisRateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.convert.support.DefaultConversionService;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.ReactiveStringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.validation.Errors;
import org.springframework.validation.Validator;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/**
 * Spring Cloud Gateway's {@code RequestRateLimiter} filter and its {@code RedisRateLimiter}, unchanged, in
 * front of the same endpoint as the others. Routing and proxying, which cost more than any limiter, are left
 * out.
 */
@Configuration(proxyBeanMethods = false)
class GatewayServer {

    private static final String ROUTE = "hello";

    @Bean
    LettuceConnectionFactory redisConnectionFactory(@Value("${bench.redis.port}") int port) {
        return new LettuceConnectionFactory("127.0.0.1", port);
    }

    @Bean
    RedisRateLimiter redisRateLimiter(
            LettuceConnectionFactory redis,
            BeanFactory beans,
            @Value("${bench.gateway.rate}") int rate,
            @Value("${bench.gateway.cost}") int cost) {
        @SuppressWarnings({"rawtypes", "unchecked"})
        RedisScript<List<Long>> script = (RedisScript)
                RedisScript.of(new ClassPathResource("META-INF/scripts/request_rate_limiter.lua"), List.class);
        RedisRateLimiter limiter = new RedisRateLimiter(
                new ReactiveStringRedisTemplate(redis),
                script,
                new ConfigurationService(beans, DefaultConversionService::new, Unchecked::new));
        limiter.getConfig()
                .put(
                        ROUTE,
                        new RedisRateLimiter.Config()
                                .setReplenishRate(rate)
                                .setBurstCapacity(Math.max(rate, cost))
                                .setRequestedTokens(cost));
        return limiter;
    }

    @Bean
    WebFilter gatewayFilter(RedisRateLimiter limiter) {
        KeyResolver byAddress =
                exchange -> Mono.justOrEmpty(exchange.getRequest().getRemoteAddress())
                        .map(address -> address.getAddress().getHostAddress());
        GatewayFilter filter = new RequestRateLimiterGatewayFilterFactory(limiter, byAddress).apply(config -> {
            config.setRateLimiter(limiter);
            config.setKeyResolver(byAddress);
            config.setRouteId(ROUTE);
        });
        return (exchange, chain) -> filter.filter(exchange, chain::filter);
    }

    private static final class Unchecked implements Validator {

        @Override
        public boolean supports(Class<?> type) {
            return true;
        }

        @Override
        public void validate(Object target, Errors errors) {}
    }
}

package io.github.reactorratelimit.benchmarks.web;

import io.github.reactorratelimit.benchmarks.redis.ScriptOnRedis;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;
import reactor.netty.Connection;

/**
 * The floor of a limit on Redis: each request calls the smallest script, and continues on its event loop.
 * There are no headers, no deadline and no error handling.
 */
@Configuration(proxyBeanMethods = false)
class ScriptServer {

    private static final String MICROS_PER_PERMIT = "1";
    private static final String MICROS_OF_ALL = "1000000";

    @Bean(destroyMethod = "shutdown")
    RedisClient redisClient(@Value("${bench.redis.port}") int port) {
        return RedisClient.create(RedisURI.create("127.0.0.1", port));
    }

    @Bean
    StatefulRedisConnection<String, String> redisConnection(RedisClient client) {
        return client.connect();
    }

    @Bean
    WebFilter scriptFilter(StatefulRedisConnection<String, String> redis) {
        String digest = redis.sync().scriptLoad(ScriptOnRedis.SMALLEST);
        return (exchange, chain) -> {
            ServerHttpRequest request = exchange.getRequest();
            String[] keys = {"floor:" + address(request)};
            Mono<Long> decision = Mono.create(sink -> {
                EventLoop loop = loop(request);
                redis.async()
                        .<Long>evalsha(digest, ScriptOutputType.INTEGER, keys, MICROS_PER_PERMIT, MICROS_OF_ALL)
                        .whenComplete((allowed, error) -> loop.execute(() -> {
                            if (error == null) {
                                sink.success(allowed);
                            } else {
                                sink.error(error);
                            }
                        }));
            });
            return decision.flatMap(allowed -> allowed == 1 ? chain.filter(exchange) : Mono.empty());
        };
    }

    private static String address(ServerHttpRequest request) {
        InetSocketAddress client = Objects.requireNonNull(request.getRemoteAddress());
        return client.getAddress().getHostAddress();
    }

    private static EventLoop loop(ServerHttpRequest request) {
        Connection connection = ServerHttpRequestDecorator.getNativeRequest(request);
        return connection.channel().eventLoop();
    }
}

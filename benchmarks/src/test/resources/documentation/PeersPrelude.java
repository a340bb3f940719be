import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.*;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.webflux.RateLimitRule;
import io.github.reactorratelimit.webflux.key.WebKeys;
import io.lettuce.core.RedisClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.springframework.context.annotation.Bean;
import reactor.core.publisher.Mono;

/** What the guide for those who come from another limiter takes for granted. */
record Quote(String symbol, long cents) {}

interface Quotes {
    Mono<Quote> fetch(String symbol);
}

abstract class PeersPrelude {

    static Quotes quotes;
    static String symbol;
    static String customer;
}

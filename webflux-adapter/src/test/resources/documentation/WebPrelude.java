import io.github.reactorratelimit.*;
import io.github.reactorratelimit.retry.*;
import io.github.reactorratelimit.webflux.*;
import io.github.reactorratelimit.webflux.client.*;
import io.github.reactorratelimit.webflux.key.*;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.http.HttpMethod;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.reactive.result.method.annotation.RequestMappingHandlerMapping;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import reactor.core.publisher.Mono;

/** What the examples about the web take for granted. */
abstract class WebPrelude {

    static ObservationRegistry observationRegistry = ObservationRegistry.create();

    static WebKey apiKey = exchange -> Mono.just("key");

    static RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(10));

    static RateLimitExchangeFilter filter = RateLimitExchangeFilter.of(limiter);

    static WebClient client = WebClient.create();

    interface Quotes {}

    interface Plans {
        Mono<RateLimitPolicy> policyOf(String keyOfApiKey);
    }

    interface Customers {
        Mono<String> idOf(String apiKey);

        Mono<RateLimitPolicy> planOf(String customer);
    }

    static boolean isInternal(ServerWebExchange exchange) {
        return false;
    }
}

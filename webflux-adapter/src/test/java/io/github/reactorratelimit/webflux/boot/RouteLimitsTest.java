package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.local.LocalStore;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.webflux.boot.LimitProperties.WhenUnavailable;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** Limits of routes that change while their store is away. */
class RouteLimitsTest {

    private final AtomicInteger changes = new AtomicInteger();
    private volatile boolean away;

    private final SharedStore shared = new SharedStore() {
        @Override
        public RateLimitStore store(WhenUnavailable mode, @Nullable Integer instances, @Nullable Duration prepaid) {
            RateLimitStore local = LocalStore.withMaxKeys(100);
            return settings -> changeable(local.open(settings));
        }

        @Override
        public Mono<Condition> condition() {
            return Mono.just(new Condition(!away, List.of()));
        }

        @Override
        public Mono<Void> close() {
            return Mono.empty();
        }
    };

    private LimiterState changeable(LimiterState state) {
        return (LimiterState) Proxy.newProxyInstance(
                LimiterState.class.getClassLoader(), new Class<?>[] {LimiterState.class}, (proxy, method, given) -> {
                    if (!isChange(method)) {
                        return method.invoke(state, given);
                    }
                    changes.incrementAndGet();
                    return away ? Mono.error(new IllegalStateException("away")) : method.invoke(state, given);
                });
    }

    private static boolean isChange(Method method) {
        return method.getName().equals("changePolicy") && method.getParameterCount() == 1;
    }

    private static GatewayRateLimiter.Config said(String limit) {
        GatewayRateLimiter.Config config = new GatewayRateLimiter.Config();
        config.setLimit(limit);
        return config;
    }

    @Test
    void aRouteIsNotChangedToALimitBelowItsCost() {
        RouteLimits routes = new RouteLimits(BoundProperties.limits(BoundProperties.of("")));
        GatewayRateLimiter.Config costly = said("10 per day");
        costly.setCost("8");
        RateLimiter limiter = routes.of("orders", costly).limiter();
        GatewayRateLimiter.Config below = said("6 per day");
        below.setCost("8");
        assertThatThrownBy(() -> routes.of("orders", below))
                .hasMessageContainingAll("route 'orders': ratelimit.cost", "costs 8 permits");
        assertThat(limiter.policy().capacity()).isEqualTo(10);
    }

    @Test
    void aChangeThatFailedIsTriedAgainWhenTheRouteIsReadAgainAndNotByEveryRequest() {
        RouteLimits routes = new RouteLimits(BoundProperties.limits(BoundProperties.of(""), () -> shared));
        RateLimiter limiter = routes.of("orders", said("10 per day")).limiter();
        GatewayRateLimiter.Config changed = said("6 per day");
        away = true;
        routes.of("orders", changed);
        routes.of("orders", changed);
        assertThat(changes).hasValue(1);

        away = false;
        routes.of("orders", changed);
        assertThat(changes).hasValue(1);
        assertThat(routes.of("orders", said("6 per day")).limiter()).isSameAs(limiter);

        assertThat(changes).hasValue(2);
        Await.until("it rules", () -> limiter.policy().capacity() == 6);
        routes.of("orders", said("6 per day"));
        assertThat(changes).hasValue(2);
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.lettuce.core.RedisClient;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Keeps limits in Redis, where {@code ratelimit.redis.uri} or the application's own Lettuce client says where that is. */
@AutoConfiguration(
        before = RateLimitAutoConfiguration.class,
        afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(RedisClient.class)
@ConditionalOnProperty(prefix = "ratelimit", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(RateLimitProperties.class)
public class RateLimitRedisAutoConfiguration {

    /** A server for the limits alone. Connected to when the first limit needs it. */
    @Configuration(proxyBeanMethods = false)
    @Conditional(OwnServerNamed.class)
    static class OwnServer {

        @Lazy
        @Bean(destroyMethod = "dispose")
        @ConditionalOnMissingBean(SharedStore.class)
        RedisSharedStore rateLimitRedisStore(RateLimitProperties properties) {
            return RedisSharedStore.connect(properties.redis());
        }
    }

    /** The application's server. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(LettuceConnectionFactory.class)
    static class ApplicationsServer {

        @Lazy
        @Bean(destroyMethod = "dispose")
        @ConditionalOnBean(LettuceConnectionFactory.class)
        @ConditionalOnMissingBean(SharedStore.class)
        RedisSharedStore rateLimitRedisStore(RateLimitProperties properties, LettuceConnectionFactory factory) {
            return RedisSharedStore.on(factory.getRequiredNativeClient(), properties.redis());
        }
    }

    /** Whether a server is named for the limits alone, or nodes of a Cluster, in whichever form lists have. */
    static final class OwnServerNamed extends SpringBootCondition {

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Binder binder = Binder.get(context.getEnvironment());
            boolean named = binder.bind("ratelimit.redis.uri", String.class).isBound()
                    || binder.bind("ratelimit.redis.cluster-uris", Bindable.listOf(String.class))
                            .isBound();
            return new ConditionOutcome(
                    named, "ratelimit.redis.uri or cluster-uris " + (named ? "given" : "not given"));
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import io.lettuce.core.RedisClient;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.data.redis.connection.ReactiveRedisConnectionFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Keeps limits in Redis: at {@code reactor-ratelimit.redis.uri}, or where the application's Lettuce client connects. */
@AutoConfiguration(
        before = RateLimitAutoConfiguration.class,
        afterName = "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(RedisClient.class)
@ConditionalOnProperty(prefix = "reactor-ratelimit", name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(RateLimitProperties.class)
public class RateLimitRedisAutoConfiguration {

    private static final String APPLICATION = "spring.application.name";

    /** A server for the limits alone. Connected to when the first limit needs it. */
    @Configuration(proxyBeanMethods = false)
    @Conditional(OwnServerNamed.class)
    static class OwnServer {

        @Lazy
        @Bean(destroyMethod = "dispose")
        @ConditionalOnMissingBean(SharedStore.class)
        RedisSharedStore rateLimitRedisStore(RateLimitProperties properties, Environment environment) {
            return RedisSharedStore.connect(properties.redis(), environment.getProperty(APPLICATION));
        }
    }

    /** The application's server, unless another is named: nested classes have no defined order. */
    @Configuration(proxyBeanMethods = false)
    @Conditional(NoOwnServerNamed.class)
    @ConditionalOnClass(LettuceConnectionFactory.class)
    static class ApplicationsServer {

        @Lazy
        @Bean(destroyMethod = "dispose")
        @Conditional(AnyConnectionFactory.class)
        @ConditionalOnMissingBean(SharedStore.class)
        RedisSharedStore rateLimitRedisStore(
                RateLimitProperties properties,
                Environment environment,
                ObjectProvider<RedisConnectionFactory> factories,
                ObjectProvider<ReactiveRedisConnectionFactory> reactive) {
            LettuceConnectionFactory factory = lettuce(factories, reactive);
            return RedisSharedStore.on(
                    factory::getRequiredNativeClient, properties.redis(), environment.getProperty(APPLICATION));
        }

        /** The type of a bean definition may hide that it is of Lettuce, so the beans are asked. */
        private static LettuceConnectionFactory lettuce(
                ObjectProvider<RedisConnectionFactory> factories,
                ObjectProvider<ReactiveRedisConnectionFactory> reactive) {
            if (factories.getIfUnique() instanceof LettuceConnectionFactory only) {
                return only;
            }
            List<LettuceConnectionFactory> found = Stream.concat(factories.stream(), reactive.stream())
                    .filter(LettuceConnectionFactory.class::isInstance)
                    .map(LettuceConnectionFactory.class::cast)
                    .distinct()
                    .toList();
            PropertyChecks.check(
                    !found.isEmpty(),
                    "reactor-ratelimit.redis.uri",
                    "is needed, or reactor-ratelimit.store: local: the application's Redis connection factory is not one of Lettuce");
            PropertyChecks.check(
                    found.size() == 1,
                    "reactor-ratelimit.redis.uri",
                    "is needed, or a @Primary connection factory, or reactor-ratelimit.store: local: the application has several");
            return found.get(0);
        }
    }

    /** Whether the application has a Redis, of whichever client. */
    static final class AnyConnectionFactory extends AnyNestedCondition {

        AnyConnectionFactory() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @ConditionalOnBean(RedisConnectionFactory.class)
        static final class Blocking {}

        @ConditionalOnBean(ReactiveRedisConnectionFactory.class)
        static final class Reactive {}
    }

    /** Whether no server is named for the limits alone. */
    static final class NoOwnServerNamed extends NoneNestedConditions {

        NoOwnServerNamed() {
            super(ConfigurationPhase.PARSE_CONFIGURATION);
        }

        @Conditional(OwnServerNamed.class)
        static final class Named {}
    }

    /** Whether a server is named for the limits alone, or nodes of a Cluster, in whichever form lists have. */
    static final class OwnServerNamed extends SpringBootCondition {

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            Binder binder = Binder.get(context.getEnvironment());
            boolean named =
                    binder.bind("reactor-ratelimit.redis.uri", String.class).isBound()
                            || binder.bind("reactor-ratelimit.redis.cluster-uris", Bindable.listOf(String.class))
                                    .isBound();
            return new ConditionOutcome(
                    named, "reactor-ratelimit.redis.uri or cluster-uris " + (named ? "given" : "not given"));
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.webflux.gateway.GatewayRateLimiter;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/** A native image has what it cannot see by itself. */
class NativeImageTest {

    private final RuntimeHints hints = new RuntimeHints();

    NativeImageTest() {
        new RateLimitRuntimeHints().registerHints(hints, getClass().getClassLoader());
    }

    @Test
    void everyScriptIsIncluded() throws IOException {
        String folder = RedisStore.class.getPackageName().replace('.', '/');
        Resource[] scripts = new PathMatchingResourcePatternResolver().getResources("classpath:" + folder + "/*.lua");
        assertThat(scripts)
                .hasSizeGreaterThan(10)
                .allSatisfy(script -> assertThat(
                                RuntimeHintsPredicates.resource().forResource(folder + "/" + script.getFilename()))
                        .accepts(hints));
        assertThat(RuntimeHintsPredicates.resource().forResource(folder + "/RedisStore.java"))
                .rejects(hints);
    }

    @Test
    void everyRecordOfPropertiesCanBeBound() {
        for (Class<?> type : new Class<?>[] {
            RateLimitProperties.class,
            RateLimitProperties.Address.class,
            RateLimitProperties.AllowList.class,
            RateLimitProperties.Headers.class,
            RateLimitProperties.Redis.class,
            RateLimitProperties.Gateway.class,
            RateLimitProperties.Actuator.class,
            LimitProperties.class,
            LimitProperties.KeyOverride.class
        }) {
            assertThat(RuntimeHintsPredicates.reflection()
                            .onType(type)
                            .withAnyMemberCategory(
                                    MemberCategory.INVOKE_DECLARED_CONSTRUCTORS,
                                    MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)
                            .or(RuntimeHintsPredicates.reflection()
                                    .onConstructorInvocation(type.getDeclaredConstructors()[0])))
                    .as(type.getSimpleName())
                    .accepts(hints);
        }
    }

    @Test
    void whatRoutesOfAGatewaySayCanBeBound() throws NoSuchMethodException {
        assertThat(RuntimeHintsPredicates.reflection()
                        .onMethodInvocation(GatewayRateLimiter.Config.class.getMethod("setLimit", String.class))
                        .and(RuntimeHintsPredicates.reflection()
                                .onConstructorInvocation(GatewayRateLimiter.Config.class.getConstructor())))
                .accepts(hints);
    }

    @Test
    void optionalClassesAreFoundByName() {
        for (String optional : new String[] {
            "io.lettuce.core.RedisClient",
            "org.springframework.data.redis.connection.RedisConnectionFactory",
            "org.springframework.boot.actuate.endpoint.annotation.Endpoint"
        }) {
            assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(optional)))
                    .as(optional)
                    .accepts(hints);
        }
    }

    @Test
    void theHintsComeWithTheConfiguration() {
        assertThat(RateLimitAutoConfiguration.class
                        .getAnnotation(ImportRuntimeHints.class)
                        .value())
                .contains(RateLimitRuntimeHints.class);
    }
}

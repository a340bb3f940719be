package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.webflux.autoconfigure.HttpHandlerAutoConfiguration;
import org.springframework.boot.webflux.autoconfigure.WebFluxAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.util.ClassUtils;

/** Every bean of ours gives way to one of the application. */
class ReplaceableBeansTest {

    private static final ReactiveWebApplicationContextRunner APPLICATION = new ReactiveWebApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    HttpHandlerAutoConfiguration.class,
                    WebFluxAutoConfiguration.class,
                    RateLimitAutoConfiguration.class,
                    RateLimitActuatorAutoConfiguration.class))
            .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
            .withPropertyValues(
                    "management.endpoints.web.exposure.include=*",
                    "reactor-ratelimit.redis.uri=redis://127.0.0.1:1",
                    "reactor-ratelimit.store=local");

    static Stream<Method> beans() {
        ClassLoader loader = ReplaceableBeansTest.class.getClassLoader();
        List<String> configurations =
                ImportCandidates.load(AutoConfiguration.class, loader).getCandidates();
        return Stream.concat(configurations.stream(), Stream.of(ClientAddressConfiguration.class.getName()))
                .filter(name -> name.startsWith("io.github.reactorratelimit."))
                .map(name -> ClassUtils.resolveClassName(name, loader))
                .flatMap(type -> Stream.concat(Stream.of(type), Stream.of(type.getDeclaredClasses())))
                .flatMap(type -> Stream.of(type.getDeclaredMethods()))
                .filter(method -> method.isAnnotationPresent(Bean.class));
    }

    @Test
    void beansAreFound() {
        assertThat(beans()).hasSizeGreaterThan(15);
    }

    @ParameterizedTest
    @MethodSource("beans")
    void beanGivesWay(Method bean) {
        assertThat(bean.isAnnotationPresent(ConditionalOnMissingBean.class)).isTrue();
    }

    /** Those of the gateway need a gateway: {@link GatewayConfigurationTest}. */
    static Stream<Method> beansWithoutGateway() {
        return beans().filter(bean -> !bean.getDeclaringClass().getName().contains("Gateway"));
    }

    @ParameterizedTest
    @MethodSource("beansWithoutGateway")
    void beanOfTheApplicationIsUsedInItsPlace(Method bean) {
        String[] names = bean.getAnnotation(ConditionalOnMissingBean.class).name();
        String name = names.length == 0 ? "own" : names[0];
        APPLICATION.run(another -> {
            Object own = another.getBean(bean.getName());
            replaced(name, bean.getReturnType(), own).run(context -> {
                assertThat(context).hasNotFailed();
                assertThat(context.getBean(name)).isSameAs(own);
                assertThat(context.getBeanNamesForType(own.getClass()))
                        .as("beside it")
                        .doesNotContain(names.length == 0 ? bean.getName() : "own");
            });
        });
    }

    private static <T> ReactiveWebApplicationContextRunner replaced(String name, Class<T> type, Object own) {
        return APPLICATION.withBean(name, type, () -> type.cast(own));
    }
}

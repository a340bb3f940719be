package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.context.annotation.Bean;
import org.springframework.util.ClassUtils;

/** Every bean of ours gives way to one of the application. */
class ReplaceableBeansTest {

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
}

package io.github.reactorratelimit.webflux;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.key.KeyBypasses;
import io.github.reactorratelimit.webflux.testing.Bypass;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** All attempts to get past a limit, by another key or by another spelling of a path, against real servers: none succeeds. */
class BypassTest {

    @TempDir
    static Path files;

    static Stream<Bypass> attempts() throws Exception {
        return Stream.of(KeyBypasses.attempts(), PathBypassTest.attempts(), WideHandlerBypassTest.attempts(files))
                .flatMap(table -> table);
    }

    @AfterAll
    static void stop() {
        PathBypassTest.stop();
        WideHandlerBypassTest.stop();
    }

    @Test
    void manyAreTried() throws Exception {
        assertThat(attempts().map(Bypass::name).distinct()).hasSizeGreaterThanOrEqualTo(140);
    }

    @ParameterizedTest
    @MethodSource("attempts")
    void nobodyGetsPastALimit(Bypass attempt) throws Exception {
        assertThat(attempt.passing().call()).isEqualTo(attempt.allowed());
    }
}

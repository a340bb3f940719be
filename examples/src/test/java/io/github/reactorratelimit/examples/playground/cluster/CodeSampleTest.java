package io.github.reactorratelimit.examples.playground.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Sources;
import io.github.reactorratelimit.examples.playground.cluster.Settings.Asking;
import io.github.reactorratelimit.examples.playground.cluster.Settings.Failure;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CodeSampleTest {

    @TempDir
    Path output;

    @Test
    void whatIsShownToBeCopiedCompilesAndSaysWhatRuns() throws IOException {
        Sources sources = new Sources();
        for (Failure failure : Failure.values()) {
            for (Asking asking : Asking.values()) {
                String code = CodeSample.of(Settings.of(ClusterApiTest.settings(
                        Map.of("failure", Fields.textOf(failure), "asking", Fields.textOf(asking)))));

                assertThat(code)
                        .contains("TokenBucket.perSecond(20).withBurst(6)")
                        .contains("FailureMode." + Fields.textOf(failure) + "(");
                assertThat(code.contains(".leasing()")).isEqualTo(asking == Asking.LEASES);
                sources.add("Calls", code);
            }
        }
        assertThat(sources.complaints(output)).isEmpty();
    }
}

package io.github.reactorratelimit.examples.playground.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Sources;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CodeSampleTest {

    @TempDir
    Path output;

    @Test
    void whatIsShownToBeCopiedCompilesAndNamesThePolicyThatRuns() throws IOException {
        Sources sources = new Sources();
        for (Kind kind : Kind.values()) {
            for (String mode : List.of("reject", "delay")) {
                Map<String, Object> json = LiveApiTest.settings();
                json.putAll(Map.of("policy", Fields.textOf(kind), "mode", mode));
                Settings settings = Settings.of(json);
                String code = CodeSample.of(settings);

                assertThat(code)
                        .contains(kind.policy(settings.limits()).getClass().getSimpleName() + ".");
                sources.add("Calls", code);
            }
        }
        assertThat(sources.complaints(output)).isEmpty();
    }
}

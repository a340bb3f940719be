package io.github.reactorratelimit.examples.playground.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.Fields;
import io.github.reactorratelimit.examples.playground.Sources;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Retries;
import io.github.reactorratelimit.examples.playground.fragile.Settings.Shape;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CodeSampleTest {

    @TempDir
    Path output;

    private static String code(Shape shape, Retries retries) {
        Map<String, Object> json = FragileApiTest.settings();
        json.putAll(Map.of("shape", Fields.textOf(shape), "retries", Fields.textOf(retries)));
        return CodeSample.of(Settings.of(json));
    }

    @Test
    void whatIsShownToBeCopiedCompiles() throws IOException {
        Sources sources = new Sources();
        for (Shape shape : Shape.values()) {
            for (Retries retries : Retries.values()) {
                sources.add("Downstream", code(shape, retries));
            }
        }
        assertThat(sources.complaints(output)).isEmpty();
    }

    @Test
    void itNamesWhatRuns() {
        assertThat(code(Shape.LEAKY_BUCKET, Retries.NEVER))
                .contains("LeakyBucket.perSecond(40)")
                .contains(".maxWait(Duration.ofMillis(3000)).withoutLearning()")
                .doesNotContain("Retry");
        assertThat(code(Shape.RETRY_AFTER, Retries.NEVER))
                .contains("LeakyBucket.perSecond(40)")
                .doesNotContain("withoutLearning");
        assertThat(code(Shape.CONCURRENCY, Retries.AGAIN))
                .contains("ConcurrencyLimit.of(4)")
                .contains("RateLimitRetry.atMost(3)");
        assertThat(code(Shape.ADAPTIVE, Retries.NEVER))
                .contains("AdaptiveRate.gradient(5, 300, Duration.ofSeconds(1))")
                .contains(".limitCalls(Duration.ofMillis(3000))");
    }
}

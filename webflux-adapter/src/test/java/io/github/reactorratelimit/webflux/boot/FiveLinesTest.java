package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

/** An application that has five lines of YAML, and nothing else, limits its clients. */
class FiveLinesTest {

    /** A permit comes back every eight hours: none does while a test runs. */
    private static final String FIVE_LINES = """
            ratelimit:
              limits:
                - name: per-client
                  key: ip
                  limit: 3 per day
            """;

    @Test
    void fiveLinesOfYamlLimitEachClient() {
        try (WebApplication application = WebApplication.start(FIVE_LINES)) {
            for (int left = 2; left >= 0; left--) {
                HttpResponse<String> allowed = application.get("/hello");
                assertThat(allowed.statusCode()).isEqualTo(200);
                assertThat(allowed.headers().firstValue("RateLimit-Policy")).contains("\"per-client\";q=3;w=86400");
                assertThat(allowed.headers().firstValue("RateLimit").orElseThrow())
                        .startsWith("\"per-client\";r=" + left);
            }
            HttpResponse<String> denied = application.get("/hello");
            assertThat(denied.statusCode()).isEqualTo(429);
            assertThat(denied.headers().firstValue("RateLimit").orElseThrow()).startsWith("\"per-client\";r=0;t=");
            assertThat(denied.headers().firstValueAsLong("Retry-After").orElseThrow())
                    .isPositive();
            assertThat(denied.headers().firstValue("Cache-Control")).contains("no-store");
            assertThat(denied.body()).contains("quota-exceeded", "per-client");
        }
    }
}

package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;

/** An application that has five lines of YAML, and nothing else, limits its clients. */
class FiveLinesTest {

    /** A permit comes back every eight hours: none does while a test runs. */
    private static final String FIVE_LINES = """
            reactor-ratelimit:
              limits:
                per-client:
                  key: ip
                  limit: 3 per day
            """;

    private static final String SHOWN = """
            management.endpoints.web.exposure.include: ratelimits
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
            assertThat(denied.headers().firstValue("Content-Type").orElseThrow())
                    .startsWith("application/problem+json");
            assertThat(denied.body()).contains("quota-exceeded", "per-client");
        }
    }

    @Test
    void theEndpointShowsThem() {
        try (WebApplication application = WebApplication.start(FIVE_LINES + SHOWN)) {
            application.get("/hello");
            HttpResponse<String> shown = application.get("/actuator/ratelimits");
            assertThat(shown.statusCode()).isEqualTo(200);
            assertThat(shown.body())
                    .contains("\"name\":\"per-client\"", "\"key\":\"ip\"", "\"store\":\"local\"")
                    .contains("TokenBucket[capacity=3", "\"allowed\":1", "\"denied\":0", "\"permitsTaken\":1")
                    .contains("\"mostUsed\":[{\"hash\":")
                    .doesNotContain("127.0.0.1");
        }
    }
}

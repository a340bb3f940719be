package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Requests that cost more than most clients ever have. */
class CostlyLimitsTest {

    private static final String DEAR = """
            reactor-ratelimit.limits:
              dear:
                paths: /hello
                key: header:X-Client
                limit: 5 per day
                cost: 8
            """;

    private static final String FOR_SOME = DEAR + "    overrides: [{key: rich, limit: 20 per day}]\n";

    @Test
    void aCostThatOnlyKeysWithAnotherLimitCanPayIsForThem() {
        try (WebApplication application = WebApplication.start(FOR_SOME)) {
            assertThat(application.statuses(3, "/hello", "X-Client", "rich")).containsExactly(200, 200, 429);
            assertThat(application.statuses(2, "/hello", "X-Client", "poor")).containsOnly(429);
        }
    }

    @Test
    void aCostThatNobodyCanPayIsAMistake() {
        assertThat(WebApplication.failure(DEAR).getDescription())
                .contains("reactor-ratelimit.limits.", "costs 8 permits");
        assertThat(WebApplication.failure(FOR_SOME.replace("20 per", "7 per")).getDescription())
                .contains("costs 8 permits");
    }
}

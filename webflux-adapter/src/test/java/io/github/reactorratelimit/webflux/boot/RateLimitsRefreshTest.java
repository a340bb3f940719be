package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.webflux.boot.RateLimits.Refreshed;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.context.refresh.ContextRefresher;
import org.springframework.core.env.PropertySource;

/** Limits change while the application runs, and nothing that was spent is forgotten. */
class RateLimitsRefreshTest {

    private static final String BEFORE = """
            reactor-ratelimit:
              limits:
                changing: {paths: /hello, key: all, limit: 3 per day}
                staying: {paths: /none, key: all, limit: 5 per day, overrides: [{key: x, limit: 6 per day}]}
            """.replace("key: all, limit: 5", "key: 'header:X', limit: 5");

    private static void replaceConfiguration(WebApplication application, String yaml) {
        var sources = application.context().getEnvironment().getPropertySources();
        PropertySource<?> file = sources.stream()
                .filter(source -> source.containsProperty("reactor-ratelimit.limits.changing.limit"))
                .filter(source -> !source.getName().equals("configurationProperties"))
                .findFirst()
                .orElseThrow();
        PropertySource<?> changed = BoundProperties.sources(yaml).get(0);
        sources.addBefore(file.getName(), changed);
        sources.remove(file.getName());
    }

    @Test
    void otherNumbersRuleAndWhatWasSpentIsKept() {
        try (WebApplication application = WebApplication.start(BEFORE)) {
            assertThat(application.statuses(3, "/hello")).containsOnly(200);
            replaceConfiguration(application, BEFORE.replace("3 per day", "5 per day"));

            Refreshed refreshed = application.bean(RateLimits.class).refresh().block();

            assertThat(refreshed.changed()).containsExactly("changing");
            assertThat(refreshed.needRestart()).isEmpty();
            assertThat(application.statuses(3, "/hello")).containsExactly(200, 200, 429);
        }
    }

    @Test
    void whatCannotChangeIsTold() {
        RateLimitProperties before = BoundProperties.of(BEFORE);
        RateLimits limits = BoundProperties.limits(before);

        Refreshed refreshed = limits.refresh(BoundProperties.of("""
                        reactor-ratelimit:
                          max-keys: 5
                          limits:
                            changing: {paths: /other, key: all, limit: 4 per day, soft-limit: 2 per day, max-wait: 1s}
                            new: {key: all, limit: 1 per day}
                        """)).block();

        assertThat(refreshed.changed()).containsExactly("changing");
        assertThat(limits.limiter("changing").orElseThrow().policy().capacity()).isEqualTo(4);
        assertThat(refreshed.needRestart())
                .containsExactly(
                        "reactor-ratelimit.limits.changing: other properties than its numbers differ",
                        "reactor-ratelimit.limits.changing: soft-limit was added or removed",
                        "reactor-ratelimit.limits.new: there was no limit of this name",
                        "limit 'staying' is not there any more",
                        "reactor-ratelimit: properties beside the limits differ");
    }

    @Test
    void overridesChangeToo() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of(BEFORE));
        RateLimiter limiter = limits.limiter("staying").orElseThrow();

        Refreshed refreshed = limits.refresh(BoundProperties.of(BEFORE.replace("6 per day", "9 per day")))
                .block();

        assertThat(refreshed.changed()).containsExactly("staying");
        assertThat(limiter.peek("header:x:x").block().remaining()).isEqualTo(9);
        assertThat(limiter.peek("header:x:y").block().remaining()).isEqualTo(5);
    }

    @Test
    void aMistakeChangesNothing() {
        try (WebApplication application = WebApplication.start(BEFORE)) {
            replaceConfiguration(
                    application,
                    BEFORE.replace("limit: 3 per day", "limit: 9 per day")
                            .replace("limit: 5 per day", "limit: 5 per day, burst: 0"));

            assertThatThrownBy(
                            () -> application.bean(RateLimits.class).refresh().block())
                    .hasStackTraceContaining("reactor-ratelimit.limits.staying.burst");

            assertThat(application
                            .bean(RateLimits.class)
                            .limiter("changing")
                            .orElseThrow()
                            .policy()
                            .capacity())
                    .isEqualTo(3);
        }
    }

    @Test
    void whatAnOperatorChangedStaysUntilTheConfigurationChangesIt() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of(BEFORE));
        RateLimiter limiter = limits.limiter("changing").orElseThrow();
        limits.change("changing", Rate.parse("9 per day"), null).block();

        assertThat(limits.refresh(BoundProperties.of(BEFORE)).block().changed()).isEmpty();
        assertThat(limiter.policy().capacity()).isEqualTo(9);

        String other = BEFORE.replace("3 per day", "4 per day");
        assertThat(limits.refresh(BoundProperties.of(other)).block().changed()).containsExactly("changing");
        assertThat(limiter.policy().capacity()).isEqualTo(4);
        assertThat(limits.refresh(BoundProperties.of(other)).block().changed()).isEmpty();
    }

    @Test
    void anOperatorsNumbersCountAsTheLastConfigurationSays() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of(BEFORE));
        RateLimiter limiter = limits.limiter("changing").orElseThrow();
        limits.refresh(BoundProperties.of(
                        BEFORE.replace("limit: 3 per day", "limit: 3 per day, algorithm: leaky-bucket, queue: 7")))
                .block();

        limits.change("changing", Rate.parse("9 per day"), null).block();

        assertThat(limiter.policy()).isEqualTo(new LeakyBucket(9, Duration.ofDays(1), 7));
    }

    @Test
    void aLimitThatCannotChangeIsLeftOutAndTheOthersChange() {
        String before = """
                reactor-ratelimit.limits:
                  first: {key: all, limit: 3 per day}
                  second: {key: 'header:X', limit: 5 per day, overrides: [{key: x, limit: 6 per day}]}
                  third: {key: all, limit: 2, algorithm: concurrency}
                  fourth: {key: all, limit: 3 per day}
                """;
        RateLimits limits = BoundProperties.limits(BoundProperties.of(before));

        Refreshed refreshed = limits.refresh(BoundProperties.of("""
                        reactor-ratelimit.limits:
                          first: {key: all, limit: 4 per day}
                          second: {key: 'header:X', limit: 5, algorithm: concurrency}
                          third: {key: all, limit: 2 per day}
                          fourth: {key: all, limit: 4 per day}
                        """)).block();

        assertThat(refreshed.changed()).containsExactly("first", "fourth");
        assertThat(refreshed.needRestart())
                .containsExactly(
                        "reactor-ratelimit.limits.second: algorithm was changed to or from concurrency, none of its numbers takes effect",
                        "reactor-ratelimit.limits.third: algorithm was changed to or from concurrency, none of its numbers takes effect");
        RateLimiter second = limits.limiter("second").orElseThrow();
        assertThat(second.peek("header:x:x").block().remaining()).isEqualTo(6);
    }

    private static final String COSTLY = """
            reactor-ratelimit.limits:
              first: {key: all, limit: 3 per day}
              costly: {key: all, limit: 100 per day, cost: 10}
            """;

    @Test
    void aLimitBelowTheCostOfARequestIsRefusedAsAtTheStart() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of(COSTLY));
        String below = COSTLY.replace("3 per", "4 per").replace("100 per", "5 per");

        assertThatThrownBy(() -> limits.refresh(BoundProperties.of(below)).block())
                .isInstanceOf(RateLimitConfigurationException.class)
                .hasMessageContainingAll("reactor-ratelimit.limits.costly.cost", "5 permits", "costs 10 permits");
        assertThatThrownBy(() -> BoundProperties.limits(BoundProperties.of(below)))
                .hasMessageContainingAll("reactor-ratelimit.limits.costly.cost", "costs 10 permits");
        assertThatThrownBy(() ->
                        limits.change("costly", Rate.parse("5 per day"), null).block())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("costs 10 permits");

        assertThat(limits.limiter("first").orElseThrow().policy().capacity()).isEqualTo(3);
        assertThat(limits.limiter("costly").orElseThrow().policy().capacity()).isEqualTo(100);
    }

    @Test
    void aLimitBelowTheCostThatRulesUntilTheRestartIsLeftOut() {
        RateLimits limits = BoundProperties.limits(BoundProperties.of(COSTLY));

        Refreshed refreshed = limits.refresh(BoundProperties.of(
                        COSTLY.replace("3 per", "4 per").replace("100 per day, cost: 10", "5 per day, cost: 2")))
                .block();

        assertThat(refreshed.changed()).containsExactly("first");
        assertThat(refreshed.needRestart())
                .containsExactly(
                        "reactor-ratelimit.limits.costly: other properties than its numbers differ",
                        "reactor-ratelimit.limits.costly: none of its numbers takes effect: its limit never gives more than 5 permits at once, and a request"
                                + " costs 10 permits");
        assertThat(limits.limiter("costly").orElseThrow().policy().capacity()).isEqualTo(100);
    }

    @Test
    void aRefreshOfSpringCloudRefreshesTheLimits() {
        try (WebApplication application = WebApplication.start(BEFORE)) {
            application.rewrite(BEFORE.replace("3 per day", "8 per day"));

            assertThat(application.bean(ContextRefresher.class).refresh())
                    .contains("reactor-ratelimit.limits.changing.limit");

            // A local limiter changes its policy on the thread that says so.
            assertThat(application
                            .bean(RateLimits.class)
                            .limiter("changing")
                            .orElseThrow()
                            .policy()
                            .capacity())
                    .isEqualTo(8);
        }
    }
}

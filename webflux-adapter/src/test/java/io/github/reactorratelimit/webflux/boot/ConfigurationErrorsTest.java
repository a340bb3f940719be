package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.core.annotation.AnnotationAwareOrderComparator;
import org.springframework.core.env.StandardEnvironment;

/** What is wrong in the configuration keeps the application from starting, and is named: the property, the line, what is allowed. */
class ConfigurationErrorsTest {

    /** The third limit begins in line 9, and what is appended to it in line 12. */
    private static final String TWO_GOOD_ONES = """
            reactor-ratelimit:
              limits:
                first:
                  key: ip
                  limit: 10 per second
                second:
                  key: all
                  limit: 10/s
                third:
                  key: ip
                  limit: 5 per minute
            """;

    /** What comes after the three limits, the property that is named, the place, and words of the reason. */
    static Stream<Arguments> mistakes() {
        return Stream.of(
                third("algorithm: quantum-bucket", "algorithm", "12:", "token-bucket", "sliding-log"),
                third("mode: later", "mode", "12:", "'later' is none of reject, delay"),
                third("on-failure: shrug", "on-failure", "12:", "deny, allow"),
                third("when-unavailable: maybe", "when-unavailable", "12:", "open, closed, local"),
                third("colour: blue", "colour", "12:", "there is no such property"),
                third("burst: 0", "burst", "12:", "at least 1"),
                third("queue: 5", "queue", "12:", "leaky-bucket"),
                third("cost: 0", "cost", "12:", "must be positive"),
                third("mode: delay", "max-wait", "", "is needed, such as 2s"),
                third("soft-limit: 2 per minute", "max-wait", "", "is needed, such as 2s"),
                third("methods: [GET, FETCH]", "methods[1]", "12:", "PATCH"),
                third("paths: /a/{b", "paths", "12:", "close capture"),
                third("count-statuses: 4x4", "count-statuses", "12:", "a code like 401"),
                third("missing-key: skip", "missing-key", "12:", "'skip' is none of deny, shared"),
                third("missing-key-status: 200", "missing-key-status", "12:", "4xx or 5xx"),
                third(
                        "missing-key: shared\n      missing-key-status: 401",
                        "missing-key-status",
                        "13:",
                        "only for missing-key: deny"),
                third("zone: Europe/Berlin", "zone", "12:", "only for algorithm fixed-window"),
                third("warm-up: 5s\n      burst: 9", "burst", "13:", "without warm-up"),
                third("prepaid: 1s", "prepaid", "12:", "only for limits in Redis"),
                third("store: redis", "store", "12:", "reactor-ratelimit.redis.uri"),
                third("when-unavailable: open", "when-unavailable", "12:", "only for limits in Redis"),
                third("overrides: [{key: nobody, limit: 5/s}]", "overrides[0].key", "12:", "not an IP address"),
                third(
                        "algorithm: fixed-window\n      overrides: [{key: 127.0.0.1, limit: 5/s, burst: 9}]",
                        "overrides[0].burst",
                        "13:",
                        "only for algorithm token-bucket and gcra"),
                third(
                        "soft-limit: 6 per minute\n      max-wait: 1s",
                        "soft-limit",
                        "12:",
                        "no request would ever wait"),
                third("overrides: [{key: 127.0.0.1}]", "overrides[0].limit", "", "is needed"),
                root("client-address.trusted-proxies: 10.0.0.0/33", "client-address.trusted-proxies", "0 to 32 bits"),
                Arguments.of(
                        "client-address.source: forwarded",
                        "  client-address.source: forwarded",
                        "reactor-ratelimit.client-address.trusted-proxies",
                        "",
                        new String[] {"is needed (or trusted-hops)"}),
                root("client-address.ipv6-prefix: 65", "client-address.ipv6-prefix", "16 to 64"),
                root("allow-list.networks: [10.0.0.0/8, banana]", "allow-list.networks[1]", "not an IP address"),
                root("headers.retry-after-jitter: 2", "headers.retry-after-jitter", "between 0 and 1"),
                root("max-keys: 0", "max-keys", "must be positive"),
                root("key-timeout: 0s", "key-timeout", "must be positive"),
                root("store: redis", "store", "reactor-ratelimit.redis.uri"),
                root("redis.uri: 'http://example.org'", "redis.uri", "redis://host:port"));
    }

    private static Arguments third(String line, String property, String place, String... reasons) {
        return Arguments.of(line, "      " + line, "reactor-ratelimit.limits.third." + property, place, reasons);
    }

    private static Arguments root(String line, String property, String... reasons) {
        return Arguments.of(line, "  " + line, "ratelimit." + property, "12:", reasons);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("mistakes")
    void theApplicationDoesNotStartAndSaysWhatIsWrong(
            String written, String line, String property, String place, String[] reasons) {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES + line);
        assertThat(told.getDescription() + told.getAction())
                .contains(property)
                .contains(reasons)
                .as("names of Java are of no use to whoever writes a file")
                .doesNotContain(
                        "io.github.", "java.lang.", "java.time.", "Exception", "TOKEN_BUCKET", "REJECT", "CLOSED");
        if (!place.isEmpty()) {
            assertThat(told.getDescription()).contains(".yml] - " + place);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "limits.third.algoritm, algorithm",
        "limits.third.brust, burst",
        "limits.third.max-wiat, max-wait",
        "limits.third.only-where-named, ''",
        "limitz, limits",
        "redis.dedline, deadline",
        "client-address.sorce, source"
    })
    void unknownPropertyIsToldWithTheOneThatWasMeant(String written, String meant) {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES + "\n  " + written + ": 3");
        assertThat(told.getDescription())
                .contains("reactor-ratelimit." + written, "there is no such property")
                .contains(meant.isEmpty() ? "no such property" : "did you mean " + meant);
    }

    /** Whatever the order of the class path: Boot's own analyzer would name the constants of Java. */
    @Test
    void ourWordsComeBeforeThoseOfBoot() {
        FailureAnalyzer boots = failure -> null;
        FailureAnalyzer ours = new RateLimitConfigurationFailureAnalyzer(new StandardEnvironment());
        List<FailureAnalyzer> sorted = new ArrayList<>(List.of(boots, ours));
        AnnotationAwareOrderComparator.sort(sorted);
        assertThat(sorted).containsExactly(ours, boots);
    }

    @Test
    void aLimitNeedsAKey() {
        FailureAnalysis told = WebApplication.failure("""
                reactor-ratelimit.limits:
                  some:
                    limit: 5/s
                """);
        assertThat(told.getDescription()).contains("reactor-ratelimit.limits.some.key", "is needed, such as ip");
    }

    /** Names of Java are of no use to whoever writes a file. */
    @ParameterizedTest
    @CsvSource({
        "header:X-Forwarded-For, client address",
        "header:Authorization, bearer token",
        "header:Cookie, count by one of them"
    })
    void whatIsNoKeyIsToldWithoutNamesOfJava(String key, String instead) {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES.replace("key: all", "key: " + key));
        assertThat(told.getDescription()).contains(instead).doesNotContain("(");
    }

    @Test
    void whatIsInFlightIsNotCountedByItsOutcome() {
        FailureAnalysis told = WebApplication.failure(
                "reactor-ratelimit.limits: {some: {key: ip, limit: 5, algorithm: concurrency, count-statuses: 401}}\n");
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.limits.some.count-statuses", "not for algorithm concurrency");
    }

    @Test
    void aMistypedTimeIsToldInASentence() {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES.replace("10/s", "100 per mintue"));
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.limits.second.limit", ".yml] - 8:")
                .contains("'100 per mintue' is no limit: 'mintue' is no time; write a number and a time")
                .doesNotContain("Exception");
    }

    @Test
    void aKeyThatIsNoneIsTold() {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES.replace("key: all", "key: phase-of-the-moon"));
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.limits.second.key", ".yml] - 7:", "api-key:<header>", "principal or ip");
    }

    @Test
    void aHeaderThatAnybodyCanWriteIsNoKey() {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES.replace("key: all", "key: header:X-Forwarded-For"));
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.limits.second.key", ".yml] - 7:", "every client can write it");
    }

    @Test
    void aLimitThatIsNoneIsTold() {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES.replace("10/s", "lots"));
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.limits.second.limit", ".yml] - 8:", "'100 per minute'");
    }

    @Test
    void anUnknownPropertyBesideTheLimitsIsTold() {
        FailureAnalysis told = WebApplication.failure(TWO_GOOD_ONES + "  limitz: 3");
        assertThat(told.getDescription()).contains("ratelimit.limitz", ".yml] - 12:");
    }

    @Test
    void aSecretThatIsTooShortIsNotShown() {
        FailureAnalysis told =
                WebApplication.failure(TWO_GOOD_ONES + "  allow-list: {secret-header: X-Internal, secrets: hunter2}");
        assertThat(told.getDescription())
                .contains("reactor-ratelimit.allow-list.secrets", ".yml] - 12:", "at least 16 characters")
                .doesNotContain("hunter2");
    }

    @Test
    void aTransformerThatTakesTheHeadersAwayIsTold() {
        String transformed = "server.forward-headers-strategy: framework\n" + TWO_GOOD_ONES;
        for (String source : new String[] {"x-forwarded-for", "forwarded"}) {
            FailureAnalysis told = WebApplication.failure(
                    transformed + "  client-address: {trusted-proxies: 10.0.0.0/8, source: " + source + "}");
            assertThat(told.getDescription())
                    .contains("Property: server.forward-headers-strategy", ".yml] - 1:", "ForwardedHeaderTransformer");
        }
        WebApplication.start(transformed).close();
    }

    @Test
    void anAnnotationThatNamesNoLimitIsTold() {
        assertThatThrownBy(() -> WebApplication.start(TWO_GOOD_ONES, LimitsTest.Annotated.class)
                        .close())
                .hasStackTraceContaining(
                        "@RateLimited of io.github.reactorratelimit.webflux.boot.LimitsTest$Annotated#annotated")
                .hasStackTraceContaining("there is no rate limit rule 'named'; there are [first, second, third]");
    }
}

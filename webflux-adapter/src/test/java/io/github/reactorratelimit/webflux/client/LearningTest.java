package io.github.reactorratelimit.webflux.client;

import static io.github.reactorratelimit.webflux.client.FakeServer.GET;
import static io.github.reactorratelimit.webflux.client.FakeServer.KEY;
import static io.github.reactorratelimit.webflux.client.FakeServer.answer;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.webflux.testing.BrokenLimiter;
import java.time.Clock;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What answers say about the limits of a server, and what comes of it. */
class LearningTest {

    private static final String DATE = "Sun, 06 Nov 1994 08:49:37 GMT";
    private static final long DATE_SECONDS =
            Instant.parse("1994-11-06T08:49:37Z").getEpochSecond();
    private static final Clock OURS = Clock.fixed(Instant.parse("2026-01-01T00:00:00Z"), ZoneOffset.UTC);
    private static final long OURS_SECONDS = OURS.instant().getEpochSecond();

    private static final String LONG_AGO = atTheEdge(-999_999_999);
    private static final String FAR_AHEAD = atTheEdge(999_999_999);

    /** Faster than any server below. */
    private static final TokenBucket FAST = TokenBucket.perSecond(10_000);

    private static final String TOO_LONG = "a".repeat(1_100);

    private VirtualTimeScheduler time;

    @BeforeEach
    void stopTheClock() {
        time = VirtualTimeScheduler.getOrSet();
    }

    @AfterEach
    void letTheClockGo() {
        VirtualTimeScheduler.reset();
    }

    /** A date whose year only Java can write. */
    private static String atTheEdge(int year) {
        return DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US)
                .format(LocalDateTime.of(year, 1, 1, 0, 0));
    }

    private static RateLimitExchangeFilter filter(RateLimiter limiter, UnaryOperator<ServerLimitSpec> learn) {
        return RateLimitExchangeFilter.of(limiter, spec -> spec.learn(all -> learn.apply(all.clock(OURS))));
    }

    /** An answer, how long the next call waits because of it, and how many fields were malformed. */
    private static Arguments row(int status, long waitMillis, int malformed, String... fields) {
        return arguments(status, List.of(fields), waitMillis, malformed);
    }

    static Stream<Arguments> retryAfter() {
        return Stream.of(
                row(429, 3_000, 0, "Retry-After", "3"),
                row(503, 3_000, 0, "Retry-After", " 3 "),
                row(200, 0, 0, "Retry-After", "3"),
                row(500, 0, 0, "Retry-After", "3"),
                row(429, 0, 0),
                row(429, 0, 0, "Retry-After", "0"),
                row(429, 60_000, 0, "Retry-After", "1000000"),
                row(429, 60_000, 0, "Retry-After", "999999999999999"),
                row(429, 0, 1, "Retry-After", "9999999999999999"),
                row(429, 0, 1, "Retry-After", "-1"),
                row(429, 0, 1, "Retry-After", "+1"),
                row(429, 0, 1, "Retry-After", "abc"),
                row(429, 0, 1, "Retry-After", ""),
                row(429, 0, 1, "Retry-After", "3.5"),
                row(429, 0, 1, "Retry-After", "3, 4"),
                row(429, 0, 1, "Retry-After", "0x10"),
                row(429, 30_000, 0, "Retry-After", "1", "Retry-After", "30"),
                row(429, 30_000, 0, "Retry-After", "30", "Retry-After", "1"),
                row(429, 30_000, 1, "Retry-After", "abc", "Retry-After", "30"),
                row(429, 7_000, 0, "Retry-After", "3", "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT"),
                row(429, 0, 1, "Retry-After", "abc", "Retry-After", "-1"),
                row(429, 8_000, 0, retryAfters(8)),
                row(429, 8_000, 1, retryAfters(9)),
                row(429, 0, 1, "Retry-After", "\u0663"),
                row(429, 0, 1, "Retry-After", TOO_LONG),
                row(429, 5_000, 0, "Date", DATE, "Retry-After", "Sun, 06 Nov 1994 08:49:42 GMT"),
                row(429, 5_000, 0, "Date", DATE, "Retry-After", "Sunday, 06-Nov-94 08:49:42 GMT"),
                row(429, 5_000, 0, "Date", DATE, "Retry-After", "Sun Nov  6 08:49:42 1994"),
                row(429, 5_000, 0, "Date", "Sunday, 06-Nov-94 08:49:37 GMT", "Retry-After", "Sun Nov  6 08:49:42 1994"),
                row(429, 60_000, 0, "Date", DATE, "Retry-After", "Sun, 06 Nov 2044 08:49:42 GMT"),
                row(429, 0, 0, "Date", DATE, "Retry-After", "Sun, 06 Nov 1994 08:49:36 GMT"),
                row(429, 0, 1, "Date", DATE, "Retry-After", "Mon, 06 Nov 1994 08:49:42 GMT"),
                row(429, 0, 1, "Date", DATE, "Retry-After", "Sun, 06 Nov 1994 08:49:42 CET"),
                row(429, 0, 1, "Date", DATE, "Retry-After", "Thu, 31 Nov 1994 08:49:42 GMT"),
                row(429, 7_000, 0, "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT"),
                row(429, 7_000, 0, "Date", "abc", "Retry-After", "Thursday, 01-Jan-26 00:00:07 GMT"),
                row(429, 0, 0, "Retry-After", "Wed, 31 Dec 2025 23:59:59 GMT"),
                row(429, 7_000, 0, "Date", LONG_AGO, "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT"),
                row(429, 7_000, 0, "Date", LONG_AGO, "Retry-After", "Thursday, 01-Jan-26 00:00:07 GMT"),
                row(429, 7_000, 0, "Date", FAR_AHEAD, "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT"),
                row(429, 0, 1, "Retry-After", LONG_AGO),
                row(429, 0, 1, "Retry-After", FAR_AHEAD),
                row(429, 0, 1, "Retry-After", "Wed, 31 Dec 1969 23:59:59 GMT"));
    }

    /** So many of them, each a second longer. */
    private static String[] retryAfters(int count) {
        return IntStream.range(0, 2 * count)
                .mapToObj(i -> i % 2 == 0 ? "Retry-After" : "" + (i / 2 + 1))
                .toArray(String[]::new);
    }

    /** A field in so many lines. */
    private static String[] lines(int count) {
        return IntStream.range(0, 2 * count)
                .mapToObj(i -> i % 2 == 0 ? "RateLimit" : "\"a\";r=0;t=5")
                .toArray(String[]::new);
    }

    static Stream<Arguments> drafts() {
        return Stream.of(
                row(200, 5_000, 0, lines(8)),
                row(200, 0, 1, lines(9)),
                row(200, 5_000, 0, "RateLimit", "\"burst\";r=0;t=5"),
                row(200, 5_000, 0, "RateLimit", "\"burst\";a=0;w=5"),
                row(200, 7_000, 0, "RateLimit", "\"burst\";r=0;a=9;t=7;w=5"),
                row(429, 5_000, 0, "RateLimit", "burst;r=0;t=5"),
                row(200, 9_000, 0, "RateLimit", "\"a\";r=0;t=5, \"b\";r=7;t=1,\"c\";r=0;t=9"),
                row(200, 60_000, 0, "RateLimit", "\"burst\";r=0;t=1000000"),
                row(200, 0, 0, "RateLimit", "\"burst\";r=0"),
                row(200, 0, 0, "RateLimit", "\"burst\";r=0;t=0"),
                row(200, 0, 0, "RateLimit", ""),
                row(200, 0, 0, "RateLimit", "\"burst\";r=1000000000;t=5"),
                row(200, 0, 0, "RateLimit", "\"burst\";r=999999999999999;t=999999999999999"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=10^9;t=5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=-1;t=5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=0;t=-5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=0;t=5.5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=\"0\";t=5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r;t=5"),
                row(200, 0, 1, "RateLimit", "\"burst\";t=5"),
                row(200, 0, 1, "RateLimit", "\"burst;r=0;t=5"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=0;t=5,"),
                row(200, 0, 1, "RateLimit", "\"burst\";r=0;t=1000000000000000"),
                row(200, 0, 1, "RateLimit", "\"" + TOO_LONG + "\";r=0;t=5"),
                row(200, 0, 1, "RateLimit", "\"a\";r=0;t=5" + ", \"a\";r=0;t=5".repeat(16)),
                row(200, 5_000, 0, "RateLimit", "limit=100, remaining=0, reset=5"),
                row(200, 0, 1, "RateLimit", "limit=100, remaining=0, reset=soon"),
                row(200, 0, 0, "RateLimit", "limit=100, remaining=0"),
                row(200, 0, 1, "RateLimit", "limit=100"),
                row(200, 5_000, 0, "RateLimit-Limit", "100", "RateLimit-Remaining", "0", "RateLimit-Reset", "5"),
                row(200, 0, 0, "RateLimit-Remaining", "0"),
                row(200, 0, 1, "RateLimit-Remaining", "-1", "RateLimit-Reset", "5"),
                row(200, 5_000, 0, "RateLimit", "\"a\";r=9000;t=60", "RateLimit", "\"b\";r=0;t=5"),
                row(429, 2_000, 0, "Retry-After", "2", "RateLimit", "\"burst\";r=0;t=30"),
                row(429, 5_000, 1, "Retry-After", "abc", "RateLimit", "\"burst\";r=0;t=5"),
                row(429, 5_000, 0, "Retry-After", "0", "RateLimit", "\"burst\";r=0;t=5"),
                row(429, 2_000, 1, "Retry-After", "2", "RateLimit", "garbage("));
    }

    static Stream<Arguments> slower() {
        return Stream.of(
                row(200, 5_000, 0, "RateLimit", "\"burst\";r=2;t=10"),
                row(200, 30_000, 0, "RateLimit", "\"daily\";r=2;t=86400"),
                row(200, 0, 0, "RateLimit", "\"hourly\";r=600000;t=3600"),
                row(200, 5_000, 0, "RateLimit", "limit=100, remaining=2, reset=10"),
                row(200, 5_000, 0, "RateLimit-Remaining", "2", "RateLimit-Reset", "10"),
                row(200, 5_000, 0, "X-RateLimit-Remaining", "2", "X-RateLimit-Reset", "10"),
                row(200, 2_000, 0, "RateLimit-Policy", "\"burst\";q=5;w=10"),
                row(200, 2_000, 0, "RateLimit-Policy", "5;w=10"),
                row(200, 4_000, 0, "RateLimit-Policy", "\"a\";q=5;w=10,\"b\";q=5;w=20;pk=:aGk=:"),
                row(200, 0, 0, "RateLimit-Policy", "\"a\";q=5;w=10;qu=\"content-bytes\"", "RateLimit", "\"a\";r=0;t=5"),
                row(200, 100, 0, "RateLimit-Policy", "\"a\";q=5;w=10", "RateLimit", "\"a\";r=10;t=1"),
                row(200, 2_000, 0, "RateLimit-Policy", "\"a\";q=5;w=10", "RateLimit", "\"b\";r=10;t=1"),
                row(200, 2_000, 0, "RateLimit-Policy", "\"a\";q=5;w=10", "RateLimit", "\"a\";r=10"),
                row(200, 0, 0, "RateLimit-Policy", "\"burst\";q=5"),
                row(200, 0, 1, "RateLimit-Policy", "\"burst\";q=0;w=10"),
                row(200, 0, 1, "RateLimit-Policy", "\"burst\";q=5;w=-10"),
                row(200, 0, 1, "RateLimit-Policy", "\"burst\";w=10"),
                row(200, 0, 0, "RateLimit-Policy", "\"burst\";q=999999999999999;w=1"));
    }

    static Stream<Arguments> legacy() {
        return Stream.of(
                row(200, 5_000, 0, "X-RateLimit-Limit", "9", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5"),
                row(200, 5_000, 0, "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "5"),
                row(200, 60_000, 0, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "999999999"),
                row(200, 5_000, 0, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "" + (OURS_SECONDS + 5)),
                row(200, 5_000, 0, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", (OURS_SECONDS + 4) + "001"),
                row(200, 0, 0, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "" + (OURS_SECONDS - 5)),
                row(200, 60_000, 0, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "999999999999999"),
                row(200, 0, 0, "X-RateLimit-Remaining", "1000000000", "X-RateLimit-Reset", "5"),
                row(200, 0, 1, "X-RateLimit-Remaining", "none", "X-RateLimit-Reset", "5"),
                row(200, 0, 1, "X-RateLimit-Remaining", "0, 0", "X-RateLimit-Reset", "5"),
                row(200, 0, 1, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "-5"),
                row(200, 0, 0, "X-RateLimit-Remaining", "0"),
                row(
                        200,
                        3_000,
                        0,
                        "X-RateLimit-Remaining",
                        "0",
                        "X-RateLimit-Reset",
                        "5",
                        "RateLimit",
                        "\"a\";r=0;t=3"),
                row(200, 5_000, 1, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5", "RateLimit", "(("));
    }

    @ParameterizedTest
    @MethodSource({"retryAfter", "drafts", "slower", "legacy"})
    void nextCallWaitsAsLongAsTheAnswerSays(int status, List<String> fields, long waitMillis, int malformed) {
        ClientResponse first = answer(status, fields.toArray(new String[0]));
        FakeServer server = new FakeServer(number -> Mono.just(number == 0 ? first : answer(200)));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn -> learn);

        StepVerifier.create(filter.filter(GET, server)).expectNext(first).verifyComplete();
        filter.filter(GET, server).subscribe();
        time.advanceTimeBy(ofMinutes(5));

        assertThat(server.arrivalsMillis()).containsExactly(0L, waitMillis);
        ServerLimitStats learned = filter.learned();
        assertThat(learned.malformed()).isEqualTo(malformed);
        assertThat(learned.pauses() + learned.slowdowns()).isEqualTo(waitMillis > 0 ? 1 : 0);
        assertThat(learned.lost()).isZero();
    }

    @Test
    void aTimeSince1970IsByTheClockOfTheServerIfItSaysWhichThatIs() {
        FakeServer server = new FakeServer(number -> Mono.just(
                number > 0
                        ? answer(200)
                        : answer(
                                200,
                                "Date",
                                "Sun, 09 Sep 2001 01:46:40 GMT",
                                "X-RateLimit-Remaining",
                                "0",
                                "X-RateLimit-Reset",
                                "1000000007")));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn -> learn);

        filter.filter(GET, server).block();
        filter.filter(GET, server).subscribe();
        time.advanceTimeBy(ofMinutes(5));

        assertThat(DATE_SECONDS).isLessThan(1_000_000_000L);
        assertThat(server.arrivalsMillis()).containsExactly(0L, 7_000L);
    }

    static Stream<Arguments> never() {
        UnaryOperator<ServerLimitSpec> all = learn -> learn;
        UnaryOperator<ServerLimitSpec> noRetryAfter = learn -> learn.retryAfter(false);
        UnaryOperator<ServerLimitSpec> noDrafts = learn -> learn.rateLimitFields(false);
        UnaryOperator<ServerLimitSpec> noLegacy = learn -> learn.legacyFields(false);
        UnaryOperator<ServerLimitSpec> noSlowing = learn -> learn.slowDown(false);
        UnaryOperator<ServerLimitSpec> brief = learn -> learn.maxPause(ofSeconds(2));
        return Stream.of(
                arguments("Retry-After", "5", all, 5_000),
                arguments("Retry-After", "5", noRetryAfter, 0),
                arguments("Retry-After", "5", brief, 2_000),
                arguments("RateLimit", "a;r=0;t=5", all, 5_000),
                arguments("RateLimit", "a;r=0;t=5", noDrafts, 0),
                arguments("RateLimit", "a;r=0;t=5", noSlowing, 5_000),
                arguments("RateLimit", "a;r=1;t=5", all, 5_000),
                arguments("RateLimit", "a;r=1;t=5", noSlowing, 0),
                arguments("RateLimit", "a;r=2;t=5", brief, 1_000),
                arguments("X-RateLimit-Reset", "5", all, 5_000),
                arguments("X-RateLimit-Reset", "5", noDrafts, 5_000),
                arguments("X-RateLimit-Reset", "5", noLegacy, 0));
    }

    @ParameterizedTest
    @MethodSource("never")
    void eachSourceCanBeSwitchedOff(String field, String value, UnaryOperator<ServerLimitSpec> learn, long waitMillis) {
        FakeServer server = new FakeServer(number ->
                Mono.just(number > 0 ? answer(200) : answer(429, field, value, "X-RateLimit-Remaining", "0")));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn);

        filter.filter(GET, server).block();
        filter.filter(GET, server).subscribe();
        time.advanceTimeBy(ofMinutes(5));

        assertThat(server.arrivalsMillis()).containsExactly(0L, waitMillis);
    }

    @Test
    void withoutLearningNothingIsHeeded() {
        ClientResponse refused = answer(
                429,
                "Retry-After",
                "5",
                "RateLimit",
                "a;r=0;t=5",
                "X-RateLimit-Remaining",
                "0",
                "X-RateLimit-Reset",
                "5");
        FakeServer server = FakeServer.saying(refused);
        RateLimitExchangeFilter filter =
                RateLimitExchangeFilter.of(RateLimiter.of(FAST), OutboundSpec::withoutLearning);

        filter.filter(GET, server).block();
        filter.filter(GET, server).block();

        assertThat(filter.learned()).isEqualTo(new ServerLimitStats(0, 0, 0, 0));
    }

    @Test
    void noWordMakesAKeyFasterThanItsOwnLimit() {
        FakeServer server = FakeServer.saying(answer(
                200,
                "RateLimit-Policy",
                "\"burst\";q=1000000000;w=1",
                "RateLimit",
                "\"burst\";r=1000000000;t=1",
                "X-RateLimit-Remaining",
                "1000000000",
                "X-RateLimit-Reset",
                "1"));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(LeakyBucket.perSecond(1)), learn -> learn);

        Flux.range(0, 4).flatMap(n -> filter.filter(GET, server)).subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 1_000L, 2_000L, 3_000L);
        assertThat(filter.learned().slowdowns()).isZero();
    }

    @Test
    void pauseCountsBeforeTheAnswerIsPassedOn() {
        RateLimiter limiter = RateLimiter.of(FAST);
        FakeServer server = FakeServer.saying(answer(429, "Retry-After", "5"));
        List<Boolean> allowed = new ArrayList<>();

        filter(limiter, learn -> learn)
                .filter(GET, server)
                .doOnNext(answer -> allowed.add(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)))
                .block();

        assertThat(allowed).containsExactly(false);
    }

    @Test
    void laterWeakerWordDoesNotEndAPause() {
        List<Sinks.One<ClientResponse>> answers = List.of(Sinks.one(), Sinks.one(), Sinks.one());
        FakeServer server =
                new FakeServer(number -> number < 3 ? answers.get(number).asMono() : Mono.just(answer(200)));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn -> learn);
        Flux.range(0, 3).flatMap(n -> filter.filter(GET, server)).subscribe();

        answers.get(0).tryEmitValue(answer(429, "Retry-After", "30"));
        answers.get(1).tryEmitValue(answer(429, "Retry-After", "2"));
        answers.get(2).tryEmitValue(answer(200, "RateLimit", "\"burst\";r=5;t=5"));
        filter.filter(GET, server).subscribe();
        time.advanceTimeBy(ofMinutes(5));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 0L, 0L, 30_000L);
    }

    @Test
    void thoseWhoWaitAlreadyLeaveAfterThePauseAtTheirOwnRate() {
        FakeServer server =
                new FakeServer(number -> Mono.just(number == 2 ? answer(429, "Retry-After", "3") : answer(200)));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(LeakyBucket.perSecond(10)), learn -> learn);

        Flux.range(0, 6).flatMap(n -> filter.filter(GET, server)).subscribe();
        time.advanceTimeBy(ofMinutes(1));

        List<Long> arrivals = server.arrivalsMillis();
        assertThat(arrivals.subList(0, 3)).containsExactly(0L, 100L, 200L);
        assertThat(arrivals.subList(3, 6)).containsExactly(3_200L, 3_300L, 3_400L);
    }

    @Test
    void answersThatComeTogetherSlowTheKeyForAsManyCalls() {
        FakeServer server = new FakeServer(
                number -> Mono.just(number < 5 ? answer(200, "RateLimit", "\"burst\";r=20;t=20") : answer(200)));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn -> learn);

        Sinks.Empty<Void> all = Sinks.empty();
        FakeServer together = new FakeServer(number -> all.asMono().then(server.exchange(GET)));
        Flux.range(0, 5).flatMap(n -> filter.filter(GET, together)).subscribe();
        all.tryEmitEmpty();
        filter.filter(GET, together).subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(together.arrivalsMillis()).containsExactly(0L, 0L, 0L, 0L, 0L, 5_000L);
        assertThat(filter.learned().slowdowns()).isEqualTo(5);
    }

    @Test
    void whatIsTooShortForAPauseAddsUpUntilItIsNot() {
        FakeServer server = FakeServer.saying(answer(200, "RateLimit", "\"burst\";r=1000;t=4"));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(FAST), learn -> learn);

        for (int i = 0; i < 4; i++) {
            filter.filter(GET, server).subscribe();
        }
        time.advanceTimeBy(ofMinutes(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 0L, 0L, 12L);
    }

    @Test
    void slowedKeyIsAsFastAsItsOwnLimitWhenTheServerSaysNothingAnyMore() {
        FakeServer server = new FakeServer(
                number -> Mono.just(number < 2 ? answer(200, "RateLimit", "\"burst\";r=5;t=5") : answer(200)));
        RateLimitExchangeFilter filter = filter(RateLimiter.of(LeakyBucket.perSecond(10)), learn -> learn);

        Flux.range(0, 5).flatMap(n -> filter.filter(GET, server)).subscribe();
        time.advanceTimeBy(ofMinutes(1));

        assertThat(server.arrivalsMillis()).containsExactly(0L, 1_000L, 2_000L, 2_100L, 2_200L);
    }

    @Test
    void answerIsPassedOnAlsoIfTheStoreDoesNotTakeThePause() {
        ClientResponse refused = answer(429, "Retry-After", "5");
        RateLimitExchangeFilter filter = filter(BrokenLimiter.open(FAST), learn -> learn);

        StepVerifier.create(filter.filter(GET, FakeServer.saying(refused)))
                .expectNext(refused)
                .verifyComplete();

        assertThat(filter.learned()).isEqualTo(new ServerLimitStats(1, 0, 0, 1));
    }

    @Test
    void answerIsPassedOnAlsoIfReadingItFails() {
        ClientResponse refused = answer(429, "Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT");
        Clock broken = Clock.fixed(Instant.MIN, ZoneOffset.UTC);
        RateLimitExchangeFilter filter =
                RateLimitExchangeFilter.of(RateLimiter.of(FAST), spec -> spec.learn(all -> all.clock(broken)));

        StepVerifier.create(filter.filter(GET, FakeServer.saying(refused)))
                .expectNext(refused)
                .verifyComplete();

        assertThat(filter.learned()).isEqualTo(new ServerLimitStats(0, 0, 1, 0));
    }

    @Test
    void onlyTheKeyOfTheCallIsPaused() {
        RateLimiter limiter = RateLimiter.of(FAST);
        filter(limiter, learn -> learn)
                .filter(GET, FakeServer.saying(answer(429, "Retry-After", "5")))
                .block();

        assertThat(DirectLimiter.of(limiter).tryAcquireNow(KEY, 1)).isFalse();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("other.example.com:80", 1))
                .isTrue();
    }
}

package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.reactorratelimit.local.LocalStore;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Every bad input of the core has a clear answer at once, which names the argument and its value. */
class BadInputTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final Duration SECOND = ofSeconds(1);

    static Stream<Arguments> refusedPolicies() {
        Duration overlong = Duration.ofSeconds(Long.MAX_VALUE);
        return Stream.of(
                refused(() -> new TokenBucket(0, 1, SECOND), "capacity must be positive, was 0"),
                refused(() -> new TokenBucket(-1, 1, SECOND), "capacity must be positive, was -1"),
                refused(() -> new TokenBucket(1, 0, SECOND), "refill must be positive, was 0"),
                refused(() -> TokenBucket.of(1, ZERO), "period must be positive, was PT0S"),
                refused(() -> TokenBucket.of(1, SECOND.negated()), "period must be positive, was PT-1S"),
                refused(() -> TokenBucket.of(1, overlong), "period must be at most 366 days, was " + overlong),
                refused(
                        () -> new TokenBucket(100, 1, ofDays(100)),
                        "capacity must refill within 366 days, but 100 at 1 per PT2400H takes longer"),
                refused(
                        () -> TokenBucket.perSecond(5).withInitialTokens(6),
                        "initialTokens must be between 0 and the capacity 5, was 6"),
                refused(
                        () -> TokenBucket.perSecond(5).withInitialTokens(-1),
                        "initialTokens must be between 0 and the capacity 5, was -1"),
                refused(
                        () -> TokenBucket.perSecond(5).withInitialTokens(2).stepwise(),
                        "initialTokens must be the capacity 5 with stepwise refill, was 2"),
                refused(
                        () -> TokenBucket.perSecond(Long.MAX_VALUE),
                        "capacity must be at most 2^52, was " + Long.MAX_VALUE),
                refused(() -> Gcra.perSecond(0), "permits must be positive, was 0"),
                refused(() -> Gcra.perSecond(1).withBurst(0), "burst must be positive, was 0"),
                refused(() -> Gcra.of(1, ZERO), "period must be positive, was PT0S"),
                refused(() -> LeakyBucket.perSecond(0), "permits must be positive, was 0"),
                refused(() -> WarmUp.perSecond(0, SECOND), "permits must be positive, was 0"),
                refused(() -> WarmUp.of(1, Duration.ZERO, SECOND), "period must be positive, was PT0S"),
                refused(() -> WarmUp.perSecond(1, Duration.ZERO), "warmUp must be positive, was PT0S"),
                refused(() -> LeakyBucket.perSecond(1).withQueue(0), "queueCapacity must be positive, was 0"),
                refused(() -> FixedWindow.of(0, SECOND), "limit must be positive, was 0"),
                refused(() -> FixedWindow.of(1, ZERO), "window must be positive, was PT0S"),
                refused(
                        () -> FixedWindow.daily(1, ZoneOffset.UTC).fromFirstRequest(),
                        "alignment of a calendar window cannot be changed to the first request"),
                refused(
                        () -> new FixedWindow(
                                1,
                                SECOND,
                                new FixedWindow.Alignment.Calendar(FixedWindow.Alignment.Unit.DAY, ZoneOffset.UTC)),
                        "window of a calendar DAY must be PT24H, was PT1S"),
                refused(
                        () -> SlidingWindowLog.of(10_001, SECOND),
                        "limit of a SlidingWindowLog must be at most 10000, was 10001; use SlidingWindowCounter"),
                refused(() -> SlidingWindowLog.of(0, SECOND), "limit must be positive, was 0"),
                refused(() -> SlidingWindowCounter.of(-5, SECOND), "limit must be positive, was -5"),
                refused(() -> SlidingWindowCounter.of(5, ZERO), "window must be positive, was PT0S"),
                refused(() -> ConcurrencyLimit.of(0), "max must be positive, was 0"),
                refused(() -> ConcurrencyLimit.of(1).withLease(ZERO), "lease must be positive, was PT0S"),
                refused(
                        () -> Policies.all(TokenBucket.perSecond(1), ConcurrencyLimit.of(1)),
                        "parts must not hold a ConcurrencyLimit"),
                refused(
                        () -> new CompositePolicy(List.of(TokenBucket.perSecond(1))),
                        "parts must be at least two policies, was 1"),
                refused(() -> TokenBucket.perSecond(5).share(0), "n must be positive, was 0"),
                refused(
                        () -> TokenBucket.perSecond(5).share(6),
                        "capacity 5 cannot be shared by 6: each would get less than one permit"));
    }

    private static Arguments refused(ThrowingCallable call, String message) {
        return arguments(call, message);
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("refusedPolicies")
    void impossiblePolicyIsRefusedWhenItIsMade(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(message);
    }

    static Stream<Arguments> nulls() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1));
        return Stream.of(
                arguments((ThrowingCallable) () -> TokenBucket.of(1, null), "period"),
                arguments((ThrowingCallable) () -> Gcra.of(1, null), "period"),
                arguments((ThrowingCallable) () -> LeakyBucket.of(1, null), "period"),
                arguments((ThrowingCallable) () -> FixedWindow.of(1, null), "window"),
                arguments((ThrowingCallable) () -> FixedWindow.daily(1, null), "zone"),
                arguments((ThrowingCallable) () -> SlidingWindowLog.of(1, null), "window"),
                arguments((ThrowingCallable) () -> SlidingWindowCounter.of(1, null), "window"),
                arguments((ThrowingCallable) () -> ConcurrencyLimit.of(1).withLease(null), "lease"),
                arguments((ThrowingCallable) () -> Policies.all(null, TokenBucket.perSecond(1)), "first"),
                arguments((ThrowingCallable) () -> Policies.all(TokenBucket.perSecond(1), null), "second"),
                arguments((ThrowingCallable) () -> RateLimiter.of(null), "policy"),
                arguments((ThrowingCallable) () -> builder().store(null), "store"),
                arguments((ThrowingCallable) () -> builder().scheduler(null), "scheduler"),
                arguments((ThrowingCallable) () -> builder().recorder(null), "recorder"),
                arguments((ThrowingCallable) () -> builder().name(null), "name"),
                arguments((ThrowingCallable) () -> limiter.tryAcquire(null), "key"),
                arguments((ThrowingCallable) () -> DirectLimiter.of(limiter).tryAcquireNow(null, 1), "key"),
                arguments((ThrowingCallable) () -> limiter.acquire("k", 1, null), "maxWait"),
                arguments((ThrowingCallable) () -> limiter.pause("k", null), "duration"),
                arguments((ThrowingCallable) () -> limiter.pauseAtLeast("k", null), "duration"));
    }

    private static RateLimiterBuilder builder() {
        return RateLimiter.builder(TokenBucket.perSecond(1));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("nulls")
    void nullIsRefusedByName(ThrowingCallable call, String name) {
        assertThatThrownBy(call).isInstanceOf(NullPointerException.class).hasMessageContaining(name);
    }

    @Test
    void badBuilderArgumentsAreRefused() {
        assertThatThrownBy(() -> builder().name(" "))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("name must not be blank");
        assertThatThrownBy(() -> builder().maxWaiters(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxWaiters must be positive, was 0");
        assertThatThrownBy(() -> LocalStore.withMaxKeys(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxKeys must be positive, was 0");
        assertThatThrownBy(() -> builder().policyPerKey(key -> Mono.empty(), ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("cacheFor must be positive, was PT0S");
    }

    @Test
    void longPeriodWorks() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, ofDays(100)));
        assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
        Decision denied = limiter.tryAcquire("k").block(PATIENCE);
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter().orElseThrow()).isBetween(ofDays(99), ofDays(100));
    }

    @Test
    void shortestPeriodWorks() {
        assertThat(DirectLimiter.of(RateLimiter.of(Gcra.of(1, ofNanos(1)))).tryAcquireNow("k", 1))
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("requests")
    void permitsBelowOneAreRefused(Function<RateLimiter, Function<Long, Object>> request) {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(5));
        for (long permits : new long[] {0, -5, Long.MIN_VALUE}) {
            assertThatThrownBy(() -> request.apply(limiter).apply(permits))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("permits must be positive, was " + permits);
        }
    }

    static Stream<Function<RateLimiter, Function<Long, Object>>> requests() {
        return Stream.of(
                limiter -> permits -> limiter.tryAcquire("k", permits),
                limiter -> permits -> DirectLimiter.of(limiter).tryAcquireNow("k", permits),
                limiter -> permits -> limiter.acquire("k", permits),
                limiter -> permits -> limiter.peek("k", permits),
                limiter -> permits -> limiter.acquireLease("k", permits, ZERO));
    }

    @Test
    void exactlyTheCapacityIsAllowedWhenNothingIsSpent() {
        long capacity = 1L << 40;
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(capacity));
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", capacity)).isTrue();
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("other", capacity + 1))
                .isFalse();
        StepVerifier.create(limiter.tryAcquire("other", capacity + 1))
                .expectErrorMessage("permits " + (capacity + 1) + " can never be allowed: the policy gives at most "
                        + capacity + " at once; ask for less or raise its capacity")
                .verify(PATIENCE);
    }

    @Test
    void negativeWaitIsRefusedAndTheLongestSaturates() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, ofMillis(1)));
        assertThatThrownBy(() -> limiter.acquire("k", 1, ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxWait must not be negative, was PT-0.001S");
        assertThatThrownBy(() -> limiter.pause("k", ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("duration must not be negative, was PT-0.001S");
        assertThatThrownBy(() -> limiter.pauseAtLeast("k", ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("duration must not be negative, was PT-0.001S");
        assertThatThrownBy(() -> RateLimitContext.deadline(ofMillis(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("fromNow must not be negative, was PT-0.001S");
        Duration forever = Duration.ofSeconds(Long.MAX_VALUE);
        for (int i = 0; i < 3; i++) {
            assertThat(limiter.acquire("k", 1, forever)
                            .contextWrite(RateLimitContext.deadline(forever))
                            .block(PATIENCE)
                            .allowed())
                    .isTrue();
        }
    }

    @Test
    void longestPauseSaturates() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1));
        limiter.pause("k", Duration.ofSeconds(Long.MAX_VALUE)).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
        limiter.pause("k", ZERO).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isTrue();
        limiter.pauseAtLeast("k", Duration.ofSeconds(Long.MAX_VALUE)).block(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
    }

    @Test
    void emptyAndOverlongKeysAreRefused() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perSecond(1));
        assertThatThrownBy(() -> limiter.tryAcquire(""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key must not be empty");
        assertThatThrownBy(() -> limiter.tryAcquire("k".repeat(64 * 1024 + 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key must be at most 64 KiB, was 65537 characters");
        assertThatThrownBy(() -> limiter.tryAcquire("\u20ac".repeat(22_000)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key must be at most 64 KiB, was 66000 bytes");
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k".repeat(64 * 1024), 1))
                .isTrue();
    }

    @Test
    void oddKeysAreStableAndDistinct() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perHour(1));
        String longKey = "k".repeat(2_000);
        List<String> keys = List.of(
                "\0",
                "a\0b",
                "\ud83d\ude00",
                "\ud83d",
                "?",
                "\ud83d" + longKey,
                "?" + longKey,
                longKey,
                longKey + "x",
                Keys.normalise(longKey));
        for (String key : keys) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow(key, 1))
                    .as("first of %s", key)
                    .isTrue();
        }
        for (String key : keys) {
            assertThat(DirectLimiter.of(limiter).tryAcquireNow(new String(key.toCharArray()), 1))
                    .as("second of %s", key)
                    .isFalse();
        }
    }

    @Test
    void keysUpTo1024CharactersStayAsTheyAreAndStoresGetShortNames() {
        assertThat(Keys.normalise("k".repeat(1_024))).isEqualTo("k".repeat(1_024));
        assertThat(Keys.normalise("k".repeat(1_025))).matches("sha256:[0-9a-f]{64}");
        assertThat(LimiterState.shortName("k".repeat(128))).isEqualTo("k".repeat(128));
        assertThat(LimiterState.shortName("k".repeat(129))).matches("sha256:[0-9a-f]{64}");
        assertThat(LimiterState.shortName("\u00e9".repeat(64))).isEqualTo("\u00e9".repeat(64));
        assertThat(LimiterState.shortName("\u00e9".repeat(65))).matches("sha256:[0-9a-f]{64}");
        assertThat(LimiterState.shortName("\ud83d\ude00".repeat(32))).isEqualTo("\ud83d\ude00".repeat(32));
        assertThat(LimiterState.shortName("\ud83d\ude00".repeat(33))).matches("sha256:[0-9a-f]{64}");
    }

    @Test
    void failingPolicyResolverFailsTheRequestAndTakesNothing() {
        AtomicReference<Mono<RateLimitPolicy>> answer =
                new AtomicReference<>(Mono.error(new IllegalStateException("no database")));
        RateLimiter limiter =
                builder().policyPerKey(key -> answer.get(), ofDays(1)).build();
        StepVerifier.create(limiter.tryAcquire("k"))
                .expectErrorMessage("no database")
                .verify(PATIENCE);
        assertThat(DirectLimiter.of(limiter).tryAcquireNow("k", 1)).isFalse();
        answer.set(Mono.empty());
        assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isTrue();
        assertThat(limiter.tryAcquire("k").block(PATIENCE).allowed()).isFalse();
    }

    @Test
    void policyResolverThatNeverAnswersFailsAfterItsTime() {
        StepVerifier.withVirtualTime(() -> builder()
                        .policyPerKey(key -> Mono.never(), ofDays(1))
                        .build()
                        .tryAcquire("k"))
                .expectSubscription()
                .expectNoEvent(PolicyLookup.TIMEOUT.minusNanos(1))
                .thenAwait(ofNanos(1))
                .expectError(TimeoutException.class)
                .verify(PATIENCE);
    }

    @Test
    void plainAcquireOfAConcurrencyLimitSaysWhatToUse() {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        String advice = "a ConcurrencyLimit needs a release: use acquireLease(…), use(…) or the limitRate operator";
        assertThatThrownBy(() -> limiter.tryAcquire("k"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(advice);
        assertThatThrownBy(() -> limiter.acquire("k"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(advice);
        assertThatThrownBy(() -> RateLimiter.of(TokenBucket.perSecond(1)).acquireLease("k", 1, ZERO))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("acquireLease needs a ConcurrencyLimit");
    }

    @Test
    void fastPathOfAConcurrencyLimitGrantsWhatCanBeReleased() {
        DirectLimiter direct = DirectLimiter.of(RateLimiter.of(ConcurrencyLimit.of(1)));
        Decision held = direct.decideNow("k", 1, false);
        assertThat(held.debit()).isPresent();
        assertThat(direct.decideNow("k", 1, false).allowed()).isFalse();
        assertThat(direct.decideNow("k", 1, true)).isNull();
        direct.releaseNow(held);
        direct.releaseNow(held);
        assertThat(direct.decideNow("k", 1, false).allowed()).isTrue();
        assertThat(direct.decideNow("k", 1, false).allowed()).isFalse();
    }

    @Test
    void acquireAllOfNothingIsRefused() {
        assertThatThrownBy(() -> RateLimiter.acquireAll(List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("requests must not be empty");
    }

    @Test
    void nothingPrintsAKeyOrAStackTrace() {
        String secret = "token-of-alice";
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, ofDays(1)));
        Decision allowed = limiter.tryAcquire(secret).block(PATIENCE);
        RateLimitExceededException exceeded =
                new RateLimitExceededException(limiter.tryAcquire(secret).block(PATIENCE));
        assertThat(allowed.toString()).doesNotContain(secret);
        assertThat(allowed.debit().orElseThrow().toString()).doesNotContain(secret);
        assertThat(exceeded.getMessage()).doesNotContain(secret).contains("rate limit exceeded", "retry after");
        assertThat(exceeded.getStackTrace()).isEmpty();
    }

    @Test
    void sharesTogetherNeverExceedTheWhole() {
        List<RateLimitPolicy> wholes = List.of(
                TokenBucket.perSecond(100),
                TokenBucket.perSecond(100).stepwise(),
                TokenBucket.perSecond(100).withInitialTokens(10),
                Gcra.perSecond(100),
                LeakyBucket.perSecond(100),
                WarmUp.perSecond(100, SECOND),
                FixedWindow.of(100, SECOND),
                SlidingWindowLog.of(100, SECOND),
                SlidingWindowCounter.of(100, SECOND),
                ConcurrencyLimit.of(100),
                Policies.all(Gcra.perSecond(100), FixedWindow.of(100, SECOND)));
        for (RateLimitPolicy whole : wholes) {
            assertThat(whole.share(1)).isEqualTo(whole);
            assertThat(whole.share(7).capacity() * 7).as("%s", whole).isLessThanOrEqualTo(whole.capacity());
        }
    }
}

package io.github.reactorratelimit.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What the contract of every store does not say: members, races, unknown outcomes, clocks, values of other versions. */
class CompareAndSwapStoreTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final MemoryEngine memory = new MemoryEngine();
    private final List<RateLimiter> opened = new ArrayList<>();

    private RateLimiter member(CompareAndSwapEngine engine, RateLimitPolicy policy) {
        RateLimiter limiter = RateLimiter.builder(policy)
                .name("calls")
                .store(CompareAndSwapStore.of(engine).withDeadline(PATIENCE))
                .build();
        opened.add(limiter);
        return limiter;
    }

    @AfterEach
    void closeLimiters() {
        Flux.fromIterable(opened).flatMap(RateLimiter::close).blockLast(PATIENCE);
    }

    private static Decision now(Mono<Decision> request) {
        return request.blockOptional(PATIENCE).orElseThrow();
    }

    @Test
    void membersShareTheLimitExactlyThoughTheyRace() {
        RateLimitPolicy policy = SlidingWindowLog.of(100, Duration.ofHours(1));
        long seed = Seeds.of("racing members");
        List<RateLimiter> members = List.of(
                member(new TroubledEngine(memory, seed, 20, 50, 0), policy),
                member(new TroubledEngine(memory, seed + 1, 20, 50, 0), policy),
                member(memory, policy));
        Long allowed = Flux.range(0, 600)
                .flatMap(i -> members.get(i % members.size()).tryAcquire("alice"), 64)
                .filter(Decision::allowed)
                .count()
                .block(PATIENCE);
        assertThat(allowed).isEqualTo(100);
    }

    @Test
    void unknownOutcomeIsAnErrorAndCountsAsSpent() {
        RateLimitPolicy policy = FixedWindow.of(1_000, Duration.ofDays(365)).fromFirstRequest();
        TroubledEngine troubled = new TroubledEngine(memory, Seeds.of("unknown outcomes"), 10, 20, 20);
        RateLimiter limiter = member(troubled, policy);
        AtomicInteger failed = new AtomicInteger();
        long allowed = Flux.range(0, 400)
                .flatMap(
                        i -> limiter.tryAcquire("alice").onErrorResume(StoreUnavailableException.class, unavailable -> {
                            failed.incrementAndGet();
                            return Mono.empty();
                        }),
                        4)
                .filter(Decision::allowed)
                .count()
                .blockOptional(PATIENCE)
                .orElseThrow();
        long spent = 1_000 - now(member(memory, policy).peek("alice")).remaining();
        assertThat(troubled.unknownOutcomes).hasPositiveValue();
        assertThat(allowed + failed.get()).isEqualTo(400);
        assertThat(spent).isBetween(allowed, allowed + failed.get());
    }

    @Test
    void requestsOfAKeyThatArriveWhileACallIsInFlightShareTheNextOne() {
        AtomicInteger writes = new AtomicInteger();
        Sinks.Empty<Void> gate = Sinks.empty();
        RateLimiter limiter = member(
                new DelegatingEngine(memory) {
                    @Override
                    public Mono<Boolean> compareAndSet(
                            String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
                        return Mono.defer(() -> {
                            writes.incrementAndGet();
                            return gate.asMono().then(super.compareAndSet(key, expected, next, timeToLive));
                        });
                    }
                },
                TokenBucket.perHour(50));
        Mono<Long> allowed = Flux.range(0, 60)
                .flatMap(i -> limiter.tryAcquire("alice"), 60)
                .filter(Decision::allowed)
                .count()
                .cache();
        allowed.subscribe();
        gate.tryEmitEmpty();
        assertThat(allowed.block(PATIENCE)).isEqualTo(50);
        assertThat(writes).hasValue(2);
    }

    @Test
    void callThatNeverAnswersFailsAtTheDeadlineAndFreesItsKey() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        AtomicInteger reads = new AtomicInteger();
        CompareAndSwapEngine silentAtFirst = new DelegatingEngine(memory) {
            @Override
            public Mono<byte[]> get(String key) {
                return reads.incrementAndGet() == 1 ? Mono.never() : super.get(key);
            }
        };
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perHour(5))
                .store(CompareAndSwapStore.of(silentAtFirst).withDeadline(Duration.ofMillis(100)))
                .scheduler(time)
                .build();
        opened.add(limiter);
        Mono<Decision> silent = limiter.tryAcquire("alice").cache();
        silent.subscribe(decision -> {}, error -> {});
        time.advanceTimeBy(Duration.ofMillis(100));
        assertThatThrownBy(() -> silent.block(PATIENCE))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("PT0.1S");
        Mono<Decision> next = limiter.tryAcquire("alice").cache();
        next.subscribe();
        time.advanceTimeBy(Duration.ofMillis(1));
        assertThat(now(next).remaining()).isEqualTo(4);
    }

    @Test
    void cancelledRequestGivesBackWhatItsCallTook() {
        Sinks.Empty<Void> gate = Sinks.empty();
        RateLimiter limiter = member(
                new DelegatingEngine(memory) {
                    @Override
                    public Mono<Boolean> compareAndSet(
                            String key, byte @Nullable [] expected, byte[] next, Duration timeToLive) {
                        return super.compareAndSet(key, expected, next, timeToLive)
                                .delayUntil(stored -> gate.asMono());
                    }
                },
                SlidingWindowLog.of(5, Duration.ofHours(1)));
        limiter.tryAcquire("alice", 3).subscribe().dispose();
        gate.tryEmitEmpty();
        Await.until("the permits are back", () -> now(limiter.peek("alice")).remaining() == 5);
    }

    @Test
    void valueOfAnUnknownVersionIsUnavailable() {
        RateLimiter limiter = member(memory, TokenBucket.perHour(5));
        now(limiter.tryAcquire("alice"));
        for (byte[] bytes : new byte[][] {{2, 0, 0}, {1}, {1, 0, 0, 0, 0, 0, 0, 0, 0}, {}}) {
            memory.overwriteAll(bytes);
            assertThatThrownBy(() -> limiter.tryAcquire("alice").block(PATIENCE))
                    .isInstanceOf(StoreUnavailableException.class);
        }
    }

    @Test
    void usageIsKeptWhenAMemberHasAnotherPolicy() {
        RateLimiter before = member(memory, TokenBucket.perHour(10));
        RateLimiter after = member(memory, TokenBucket.perHour(6));
        now(before.tryAcquire("alice", 4));
        assertThat(now(after.peek("alice")).remaining()).isEqualTo(2);
        now(after.tryAcquire("alice", 2));
        assertThat(now(before.peek("alice")).remaining()).isBetween(3L, 4L);
    }

    @Test
    void aClockThatIsAheadTakesNothingAwayAndGrantsAtMostItsLeadEarly() {
        RateLimitPolicy policy = Gcra.of(5, Duration.ofMinutes(50));
        RateLimiter right = member(memory, policy);
        RateLimiter ahead = member(memory.withClockAhead(Duration.ofSeconds(9)), policy);
        now(ahead.tryAcquire("alice", 5));
        Decision denied = now(right.tryAcquire("alice"));
        assertThat(denied.retryAfter().orElseThrow()).isBetween(Duration.ofMinutes(9), Duration.ofMinutes(10));
        assertThat(now(ahead.tryAcquire("alice")).allowed()).isFalse();
    }

    @Test
    void aClockThatWasSetBackLocksOutNoLongerThanThePolicyRecovers() {
        RateLimitPolicy policy = TokenBucket.of(5, Duration.ofMinutes(1));
        RateLimiter wrong = member(memory.withClockAhead(Duration.ofDays(30)), policy);
        now(wrong.tryAcquire("alice", 5));
        Decision denied = now(member(memory, policy).tryAcquire("alice", 5));
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter().orElseThrow()).isBetween(Duration.ofSeconds(50), Duration.ofSeconds(61));
        RateLimiter later = member(memory.withClockAhead(Duration.ofSeconds(61)), policy);
        assertThat(now(later.tryAcquire("alice", 5)).allowed()).isTrue();
    }

    @Test
    void leaseOfAProcessThatDiesEndsAndOneThatIsHeldIsRenewed() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        ManualClock clock = new ManualClock();
        MemoryEngine engine = new MemoryEngine(clock);
        RateLimiter holder = leasing(engine, time);
        RateLimiter dying = leasing(engine, VirtualTimeScheduler.create());
        Lease held = lease(holder, time);
        Mono<Lease> lost = dying.acquireLease("alice", 1, Duration.ZERO).cache();
        lost.subscribe();
        assertThat(remaining(holder, time)).isZero();
        for (int second = 0; second < 40; second++) {
            clock.advance(Duration.ofSeconds(1));
            time.advanceTimeBy(Duration.ofSeconds(1));
        }
        assertThat(remaining(holder, time)).isEqualTo(1);
        Mono<Void> released = held.release().cache();
        released.subscribe();
        time.advanceTimeBy(Duration.ofMillis(1));
        released.block(PATIENCE);
        assertThat(remaining(holder, time)).isEqualTo(2);
    }

    @Test
    void keyOfAnOverrideThatRecoveredDoesNotStartWithInitialTokensAgain() {
        ManualClock clock = new ManualClock();
        RateLimitPolicy override = new TokenBucket(100, 3, Duration.ofSeconds(1), TokenBucket.Refill.CONTINUOUS, 10);
        RateLimiter limiter = RateLimiter.builder(TokenBucket.perSecond(1))
                .store(CompareAndSwapStore.of(new MemoryEngine(clock)).withDeadline(PATIENCE))
                .policyPerKey(key -> Mono.just(override), Duration.ofHours(1))
                .build();
        opened.add(limiter);
        assertThat(now(limiter.tryAcquire("alice")).remaining()).isEqualTo(9);
        clock.advance(Duration.ofMinutes(2));
        assertThat(now(limiter.peek("alice")).remaining()).isEqualTo(100);
    }

    private RateLimiter leasing(CompareAndSwapEngine engine, VirtualTimeScheduler time) {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(2).withLease(Duration.ofSeconds(30)))
                .name("leases")
                .store(CompareAndSwapStore.of(engine))
                .scheduler(time)
                .build();
        opened.add(limiter);
        return limiter;
    }

    private static Lease lease(RateLimiter limiter, VirtualTimeScheduler time) {
        Mono<Lease> lease = limiter.acquireLease("alice", 1, Duration.ZERO).cache();
        lease.subscribe();
        time.advanceTimeBy(Duration.ofMillis(1));
        return lease.blockOptional(PATIENCE).orElseThrow();
    }

    private static long remaining(RateLimiter limiter, VirtualTimeScheduler time) {
        Mono<Decision> peek = limiter.peek("alice").cache();
        peek.subscribe();
        time.advanceTimeBy(Duration.ofMillis(1));
        return now(peek).remaining();
    }

    @Test
    void keyThatSpentNothingNeedsNoValue() {
        RateLimiter limiter = member(memory, SlidingWindowLog.of(5, Duration.ofHours(1)));
        Decision taken = now(limiter.tryAcquire("alice", 5));
        assertThat(memory.size()).isEqualTo(1);
        limiter.refund(taken).block(PATIENCE);
        assertThat(memory.size()).isZero();
    }
}

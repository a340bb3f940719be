package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.PolicyText;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Policies that one process changes and all follow; a process is a store of its own here. */
@ExtendWith(RedisExtension.class)
class SharedPolicyChangeTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final String KEY = "k";

    /** The same state is 900 permits under the one policy and 2 under the other. */
    private static final TokenBucket FAST = TokenBucket.of(1_000, ofSeconds(1_000));

    private static final TokenBucket SLOW = TokenBucket.perHour(10);

    private final Standalone redis;
    private final String name = "change-" + UUID.randomUUID();
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final List<RedisStore> stores = new ArrayList<>();

    SharedPolicyChangeTest(Standalone redis) {
        this.redis = redis;
    }

    @AfterEach
    void close() {
        Flux.fromIterable(limiters).flatMap(RateLimiter::close).blockLast(PATIENCE);
        Flux.fromIterable(stores).flatMap(RedisStore::close).blockLast(PATIENCE);
    }

    private RateLimiter process(RateLimitPolicy policy) {
        RedisStore store = RedisStore.connect(redis.uri())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(PATIENCE);
        stores.add(store);
        RateLimiter limiter =
                RateLimiter.builder(policy).name(name).store(store).build();
        limiters.add(limiter);
        return limiter;
    }

    private static Decision take(RateLimiter limiter, long permits) {
        return limiter.tryAcquire(KEY, permits).block(PATIENCE);
    }

    private static Decision look(RateLimiter limiter) {
        return limiter.peek(KEY).block(PATIENCE);
    }

    private static void change(RateLimiter limiter, RateLimitPolicy policy) {
        limiter.changePolicy(policy).block(PATIENCE);
    }

    @Test
    void whatWasSpentIsKeptAndAllProcessesFollow() {
        RateLimiter one = process(TokenBucket.perHour(10));
        RateLimiter other = process(TokenBucket.perHour(10));
        take(one, 3);
        take(other, 4);
        change(one, TokenBucket.perHour(30));
        assertThat(look(one).remaining()).isEqualTo(23);
        assertThat(one.policy()).isEqualTo(TokenBucket.perHour(30));
        Await.until("the process follows", () -> other.policy().equals(TokenBucket.perHour(30)));
        Decision followed = take(other, 20);
        assertThat(followed.limit()).isEqualTo(30);
        assertThat(followed.remaining()).isEqualTo(3);
    }

    @Test
    void processThatFollowsRefusesByTheNewCapacity() {
        RateLimiter one = process(TokenBucket.perHour(10));
        RateLimiter other = process(TokenBucket.perHour(10));
        change(one, TokenBucket.perHour(30));
        Await.until("the process follows", () -> other.policy().capacity() == 30);
        assertThat(take(other, 25).allowed()).isTrue();
        change(other, TokenBucket.perHour(5));
        Await.until("the process follows", () -> one.policy().capacity() == 5);
        StepVerifier.create(one.tryAcquire(KEY, 6))
                .expectError(PermitsExceedCapacityException.class)
                .verify(PATIENCE);
    }

    @Test
    void changesMadeAtTheSameTimeBothHappenOneAfterTheOther() {
        RateLimiter one = process(TokenBucket.perHour(100));
        RateLimiter other = process(TokenBucket.perHour(100));
        take(one, 40);
        Mono.when(one.changePolicy(TokenBucket.perHour(60)), other.changePolicy(TokenBucket.perHour(70)))
                .block(PATIENCE);
        Await.until("the process follows", () -> one.policy().equals(other.policy()));
        assertThat(one.policy().capacity()).isIn(60L, 70L);
        assertThat(look(one).remaining()).isLessThanOrEqualTo(one.policy().capacity() - 40);
    }

    @Test
    void keyThatWasNotUsedDuringOneOfTwoChangesIsNotLetInAfresh() {
        RateLimiter one = process(TokenBucket.perHour(10));
        take(one, 10);
        change(one, TokenBucket.perHour(20));
        change(one, TokenBucket.perHour(30));
        assertThat(take(one, 1).allowed()).isFalse();
        assertThat(one.tryAcquire("never seen", 30).block(PATIENCE).allowed()).isTrue();
    }

    /** The key says its policy for a minute after the change, although nothing is spent any more. */
    @Test
    void processThatHasNotHeardOfAChangeFollowsItAtAKeyThatRecoveredMeanwhile() {
        RateLimiter one = process(TokenBucket.perHour(10));
        RedisStore withoutSignals =
                RedisStore.of(redis.connect()).withoutSelfTest().withDeadline(PATIENCE);
        stores.add(withoutSignals);
        RateLimiter other = RateLimiter.builder(TokenBucket.perHour(10))
                .name(name)
                .store(withoutSignals)
                .build();
        limiters.add(other);
        take(other, 10);
        change(one, TokenBucket.perSecond(1_000));
        Await.until("the key has recovered", () -> look(one).remaining() == 1_000);
        long recoveredNanos = System.nanoTime();
        Await.until(
                "a key without usage would be gone",
                () -> System.nanoTime() - recoveredNanos > ofMillis(50).toNanos());
        assertThat(other.policy()).as("it has not heard").isEqualTo(TokenBucket.perHour(10));
        assertThat(take(other, 10).limit()).isEqualTo(1_000);
        assertThat(other.policy()).isEqualTo(TokenBucket.perSecond(1_000));
    }

    /** The usage had recovered, so the change carried nothing over. */
    @Test
    void refundOfADebitUnderAPolicyThatWasReplacedIsLost() {
        RateLimiter limiter = process(TokenBucket.perSecond(1_000).withBurst(10));
        Decision old = take(limiter, 10);
        Await.until("the usage has recovered", () -> look(limiter).remaining() == 10);
        change(limiter, TokenBucket.perHour(10));
        assertThat(take(limiter, 10).allowed()).isTrue();

        limiter.refund(old).block(PATIENCE);

        assertThat(look(limiter).remaining()).isZero();
    }

    @Test
    void refundAfterAPolicyThatCameBackIsLost() {
        TokenBucket first = TokenBucket.perHour(10);
        RateLimiter limiter = process(first);
        Decision old = take(limiter, 10);
        change(limiter, TokenBucket.perSecond(1_000).withBurst(10));
        Await.until("the usage has recovered", () -> look(limiter).remaining() == 10);
        change(limiter, first);
        assertThat(take(limiter, 10).allowed()).isTrue();

        limiter.refund(old).block(PATIENCE);

        assertThat(look(limiter).remaining()).isZero();
    }

    @Test
    void refundOfADebitUnderAnOverrideThatWasReplacedIsLost() {
        TokenBucket last = TokenBucket.of(10, ofHours(2));
        List<RateLimitPolicy> plans = new ArrayList<>(
                List.of(TokenBucket.perHour(10), TokenBucket.perSecond(1_000).withBurst(10), last));
        RedisStore store = RedisStore.connect(redis.uri()).block(PATIENCE).withDeadline(PATIENCE);
        stores.add(store);
        RateLimiter limiter = RateLimiter.builder(SLOW)
                .name(name)
                .store(store)
                .policyPerKey(key -> Mono.just(plans.remove(0)), ofHours(1))
                .build();
        limiters.add(limiter);
        Decision old = take(limiter, 10);
        limiter.refreshPolicy(KEY).block(PATIENCE);
        Await.until("the usage has recovered", () -> look(limiter).remaining() == 10);
        assertThat(limiter.refreshPolicy(KEY).block(PATIENCE)).isEqualTo(last);
        assertThat(take(limiter, 10).allowed()).isTrue();

        limiter.refund(old).block(PATIENCE);

        assertThat(look(limiter).remaining()).isZero();
    }

    @Test
    void eachPartOfACompositeIsChargedWithAsMuchAsWasSpent() {
        RateLimiter one = process(Policies.all(TokenBucket.of(10, ofDays(1)), TokenBucket.of(1000, ofDays(300))));
        take(one, 10);
        one.reset("other").block(PATIENCE);
        change(one, Policies.all(TokenBucket.of(5, ofMillis(1)), TokenBucket.of(12, ofDays(300))));
        Await.until("the small part has recovered", () -> take(one, 2).allowed());
        Decision denied = take(one, 1);
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.policy()).isEqualTo(TokenBucket.of(12, ofDays(300)));
    }

    @Test
    void waitersOfAllProcessesAreTimedAnew() {
        RateLimiter one = process(TokenBucket.perHour(1));
        RateLimiter other = process(TokenBucket.perHour(1));
        take(one, 1);
        CompletableFuture<Decision> here = one.acquire(KEY, 1, ofDays(1)).toFuture();
        look(one);
        CompletableFuture<Decision> there = other.acquire(KEY, 1, ofDays(1)).toFuture();
        look(other);
        change(one, TokenBucket.of(1, ofMillis(20)));
        Mono.when(Mono.fromFuture(here), Mono.fromFuture(there)).block(PATIENCE);
        assertThat(here.join().allowed()).isTrue();
        assertThat(there.join().allowed()).isTrue();
    }

    @Test
    void waitersWhoseTurnComesTooLateNowAreDenied() {
        RateLimiter one = process(TokenBucket.of(1, ofHours(1)));
        take(one, 1);
        CompletableFuture<Decision> waiting = one.acquire(KEY, 1, ofHours(2)).toFuture();
        look(one);
        change(one, TokenBucket.of(1, ofDays(10)));
        assertThat(Mono.fromFuture(waiting).block(PATIENCE).allowed()).isFalse();
    }

    @Test
    void processThatIsStartedLaterFollowsToo() {
        RateLimiter one = process(TokenBucket.perHour(10));
        take(one, 4);
        change(one, TokenBucket.perHour(8));
        RateLimiter late = process(TokenBucket.perHour(10));
        assertThat(look(late).remaining()).isEqualTo(4);
        assertThat(take(late, 4).remaining()).isZero();
        assertThat(take(late, 1).allowed()).isFalse();
    }

    @Test
    void processThatIsBuiltWithTheNewPolicyKnowsWhatWasSpentUnderTheOneBefore() {
        RateLimiter one = process(FAST);
        take(one, 900);
        change(one, SLOW);
        assertThat(look(process(SLOW)).remaining()).isZero();
    }

    @Test
    void changeToWhatRulesAlreadyKeepsWhatWasSpent() {
        RateLimiter one = process(FAST);
        RateLimiter other = process(FAST);
        take(one, 900);
        change(one, SLOW);
        change(one, SLOW);
        change(other, SLOW);
        assertThat(look(one).remaining()).isZero();
    }

    @Test
    void changeToThePolicyThatWasNeverChangedRegistersNothing() {
        RateLimiter one = process(FAST);
        take(one, 1);
        change(one, FAST);
        assertThat(registered()).isEmpty();
        change(one, SLOW);
        assertThat(registered()).isEqualTo(Map.of("0", PolicyText.format(FAST), "1", PolicyText.format(SLOW)));
        change(one, FAST);
        assertThat(registered()).isEqualTo(Map.of("1", PolicyText.format(SLOW), "2", PolicyText.format(FAST)));
    }

    private Map<String, String> registered() {
        try (StatefulRedisConnection<String, String> connection = redis.connect()) {
            String stored = connection.sync().get(new RedisKeys("ratelimit", name).policies());
            String[] words =
                    stored == null ? new String[0] : stored.substring(1).split(",");
            return IntStream.range(0, words.length / 2)
                    .boxed()
                    .collect(Collectors.toMap(i -> words[2 * i], i -> words[2 * i + 1].replace(';', ' ')));
        }
    }

    /** Their commands name the former policy, which would read all of that as the little that it can owe. */
    @Test
    void slotsOfTheFormerPolicyOfAKeyThatAreFreedLateGiveNothingBack() {
        AtomicReference<RateLimitPolicy> plan = new AtomicReference<>(TokenBucket.of(10, ofSeconds(2)));
        RedisStore store = RedisStore.connect(redis.uri())
                .block(PATIENCE)
                .withoutSelfTest()
                .withDeadline(PATIENCE);
        stores.add(store);
        RateLimiter limiter = RateLimiter.builder(SLOW)
                .name(name)
                .store(store)
                .policyPerKey(key -> Mono.fromSupplier(plan::get), ofHours(1))
                .build();
        limiters.add(limiter);
        assertThat(take(limiter, 10).allowed()).isTrue();
        Disposable.Composite waiters = Disposables.composite();
        for (int i = 0; i < 5; i++) {
            waiters.add(limiter.acquire(KEY).onErrorComplete().subscribe());
        }
        look(limiter);
        plan.set(TokenBucket.of(5, ofSeconds(1_000)));
        limiter.refreshPolicy(KEY).block(PATIENCE);
        waiters.dispose();
        Await.until(
                "the new policy's slots are free",
                () -> look(limiter).retryAfter().orElseThrow().compareTo(ofSeconds(200)) <= 0);
        assertThat(look(limiter).remaining()).isZero();
        assertThat(look(limiter).retryAfter().orElseThrow()).isGreaterThan(ofSeconds(100));
    }
}

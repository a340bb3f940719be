package io.github.reactorratelimit.fairness;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.ConcurrencyLimit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.DirectLimiter;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.Lease;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterClosedException;
import io.github.reactorratelimit.Reservation;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.operator.LimitSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Scannable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** What one who waits sees. */
class FairShareTest {

    private static final RateLimitPolicy EVERY_TEN_MILLIS = new Gcra(1, ofMillis(10), 1);
    private static final Duration PATIENCE = ofSeconds(60);

    private static World world() {
        return new World(EVERY_TEN_MILLIS, spec -> spec.classes("interactive", "batch"));
    }

    @Test
    void permitThatIsThereIsUsedAtOnceOnTheThreadThatAsks() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perHour(1));
        FairShare share = FairShare.over(limiter, "k").build();
        List<Thread> threads = new ArrayList<>();
        share.acquire("a", FairShareBuilder.DEFAULT_CLASS, 1, PATIENCE)
                .subscribe(decision -> threads.add(Thread.currentThread()));
        assertThat(threads).containsExactly(Thread.currentThread());
    }

    @Test
    void interactiveCallThatComesLastLeavesNext() {
        World world = world();
        for (int i = 0; i < 5; i++) {
            world.call("nightly", "batch", 1);
        }
        world.pass(15);
        world.call("user", "interactive", 1);
        world.pass(100);
        assertThat(world.tenants()).containsExactly("nightly", "nightly", "user", "nightly", "nightly", "nightly");
        assertThat(world.times()).containsExactly(0L, 10L, 20L, 30L, 40L, 50L);
        world.assertQuiet();
    }

    @Test
    void fullRateIsKeptWithOneWaiterAtATimeAndWithMany() {
        World world = new World(LeakyBucket.of(1, ofMillis(10)), spec -> spec);
        for (int i = 0; i < 100; i++) {
            world.call("a", FairShareBuilder.DEFAULT_CLASS, 1);
        }
        world.pass(990);
        assertThat(world.times()).hasSize(100).last().isEqualTo(990L);
    }

    @Test
    void callsOfOtherCostsLeaveAtTheFullRate() {
        World world = new World(LeakyBucket.of(1, ofMillis(10)), spec -> spec);
        long permits = 0;
        for (int i = 0; i < 30; i++) {
            world.call("t" + i % 3, FairShareBuilder.DEFAULT_CLASS, 1 + i % 4);
            permits += 1 + i % 4;
        }
        world.pass(10 * permits);
        assertThat(world.departures).hasSize(30);
        World.Departure last = world.departures.get(29);
        assertThat(last.atMillis()).isEqualTo(10 * (permits - last.permits()));
    }

    /** The permits that a large call was waiting for are there for a small one that goes first. */
    @Test
    void smallUrgentCallDoesNotWaitForTheLargeOneBeforeIt() {
        World world =
                new World(TokenBucket.of(1, ofMillis(10)).withBurst(50), spec -> spec.classes("interactive", "batch"));
        world.call("nightly", "batch", 50);
        world.call("nightly", "batch", 50);
        world.pass(100);
        world.call("user", "interactive", 1);
        assertThat(world.tenants()).containsExactly("nightly", "user");
        world.pass(410);
        assertThat(world.times()).containsExactly(0L, 100L, 510L);
        world.assertQuiet();
    }

    @Test
    void cancelledCallLeavesAtOnceAndOthersMoveUp() {
        World world = world();
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waits.add(world.call("a", "batch", 1));
        }
        for (int i = 1; i < 100; i += 2) {
            waits.get(i).dispose();
        }
        assertThat(world.share.queued("batch")).isEqualTo(49);
        world.pass(490);
        assertThat(world.departures).hasSize(50);
        assertThat(world.times()).last().isEqualTo(490L);
        world.assertQuiet();
    }

    @Test
    void everybodyWhoLeavesLeavesNothingAtTheLimiter() {
        World world = world();
        List<Disposable> waits = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waits.add(world.call("a" + i, i % 2 == 0 ? "batch" : "interactive", 1));
        }
        waits.forEach(Disposable::dispose);
        world.assertQuiet();
        world.pass(10);
        assertThat(DirectLimiter.of(world.limiter).tryAcquireNow(World.KEY, 1)).isTrue();
    }

    @Test
    void waitThatIsOverIsDeniedAndCostsNothing() {
        World world = world();
        world.call("a", "interactive", 1);
        world.call("a", "interactive", 1);
        world.call("a", "batch", 1, ofMillis(15));
        world.pass(14);
        assertThat(world.denied).isEmpty();
        world.pass(1);
        assertThat(world.denied).containsExactly(2);
        world.pass(5);
        assertThat(DirectLimiter.of(world.limiter).tryAcquireNow(World.KEY, 1)).isTrue();
        world.assertQuiet();
    }

    @Test
    void deadlineInTheContextBoundsTheWait() {
        World world = world();
        world.call("a", "interactive", 1);
        List<Decision> told = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            world.share
                    .acquire("a", "batch", 1, World.HOWEVER_LONG)
                    .contextWrite(RateLimitContext.deadline(ofMillis(15), world.time))
                    .subscribe(told::add);
        }
        world.pass(15);
        assertThat(told).extracting(Decision::allowed).containsExactly(true, false, false);
    }

    @Test
    void whoDoesNotWaitNeverOvertakes() {
        World world = world();
        world.call("a", "batch", 1);
        world.call("a", "batch", 1);
        world.call("u", "interactive", 1, Duration.ZERO);
        assertThat(world.denied).containsExactly(2);
        Decision denied = world.share.limiter("interactive").tryAcquire("u").block();
        assertThat(denied.allowed()).isFalse();
        assertThat(denied.retryAfter()).contains(ofMillis(20));
        assertThat(DirectLimiter.of(world.share.limiter("interactive")).tryAcquireNow("u", 1))
                .isFalse();
        world.pass(30);
        assertThat(world.share.limiter("interactive").tryAcquire("u").block().allowed())
                .isTrue();
    }

    @Test
    void fullQueueOfATenantDeniesItAndNobodyElse() {
        World world = new World(
                EVERY_TEN_MILLIS,
                spec -> spec.classes("interactive", "batch")
                        .maxQueuedPerTenant(2)
                        .maxQueuedPerClass(3));
        world.call("a", "batch", 1);
        for (int i = 0; i < 3; i++) {
            world.call("a", "batch", 1);
        }
        assertThat(world.denied).containsExactly(3);
        world.call("b", "batch", 1);
        assertThat(world.denied).containsExactly(3);
        world.call("c", "batch", 1);
        assertThat(world.denied).containsExactly(3, 5);
        world.call("c", "interactive", 1);
        assertThat(world.denied).containsExactly(3, 5);
        assertThat(world.share.queued("batch")).isEqualTo(3);
        assertThat(world.share.queued("interactive")).isEqualTo(1);
        assertThat(world.share.queued()).isEqualTo(4);
    }

    @Test
    void whatCanNeverBeAllowedFailsAtOnce() {
        World world = world();
        for (int i = 0; i < 5; i++) {
            world.call("a", "batch", 1);
        }
        world.call("a", "batch", 2);
        assertThat(world.failures).singleElement().isInstanceOf(PermitsExceedCapacityException.class);
    }

    @Test
    void closeTellsEverybodyOnceAndGivesBackWhatWasAskedFor() {
        World world = world();
        for (int i = 0; i < 50; i++) {
            world.call("a" + i % 3, i % 2 == 0 ? "batch" : "interactive", 1);
        }
        world.share.close().block(PATIENCE);
        assertThat(world.failures).hasSize(49).hasOnlyElementsOfType(RateLimiterClosedException.class);
        assertThat(world.share.isDisposed()).isTrue();
        world.call("late", "batch", 1);
        world.call("late", "batch", 1, Duration.ZERO);
        assertThat(world.failures).hasSize(51);
        world.pass(10);
        assertThat(DirectLimiter.of(world.limiter).tryAcquireNow(World.KEY, 1)).isTrue();
        world.share.close().block(PATIENCE);
    }

    @Test
    void closedLimiterFailsThoseWhoWait() {
        World world = world();
        for (int i = 0; i < 5; i++) {
            world.call("a", "batch", 1);
        }
        world.limiter.close().block(PATIENCE);
        assertThat(world.failures).hasSize(4).hasOnlyElementsOfType(RateLimiterClosedException.class);
        world.call("a", "batch", 1);
        assertThat(world.failures).hasSize(5);
    }

    @Test
    void policyThatBecomesTooSmallFailsThoseWhoAskForMore() {
        World world = new World(TokenBucket.of(1, ofMillis(10)).withBurst(5), spec -> spec);
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 5);
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 5);
        world.call("b", FairShareBuilder.DEFAULT_CLASS, 1);
        world.limiter.changePolicy(TokenBucket.of(1, ofMillis(10)).withBurst(2)).block(PATIENCE);
        world.pass(1_000);
        assertThat(world.failures).singleElement().isInstanceOf(PermitsExceedCapacityException.class);
        assertThat(world.tenants()).containsExactly("a", "b");
    }

    @Test
    void pauseHoldsEverybodyAndThenTheOrderIsKept() {
        World world = world();
        world.call("a", "batch", 1);
        world.call("a", "batch", 1);
        world.share.limiter("batch").pause("a", ofMillis(200)).block(PATIENCE);
        world.call("u", "interactive", 1);
        world.pass(199);
        assertThat(world.departures).hasSize(1);
        world.pass(11);
        assertThat(world.tenants()).containsExactly("a", "u", "a");
    }

    @Test
    void longerOneOfTwoPausesOfAClassHoldsEverybody() {
        World world = world();
        RateLimiter batch = world.share.limiter("batch");
        batch.pauseAtLeast("a", ofMillis(200)).block(PATIENCE);
        batch.pauseAtLeast("b", ofMillis(100)).block(PATIENCE);
        world.call("u", "interactive", 1);
        world.pass(199);
        assertThat(world.departures).isEmpty();
        world.pass(11);
        assertThat(world.tenants()).containsExactly("u");
        assertThatThrownBy(() -> batch.pauseAtLeast("", ofMillis(100))).isInstanceOf(IllegalArgumentException.class);
    }

    /** Somebody else fills the limiter's own line: the call waits in this one. */
    @Test
    void fullLineOfTheLimiterIsAskedAgain() {
        World world = new World(LeakyBucket.of(1, ofMillis(10)).withQueue(2), spec -> spec);
        for (int i = 0; i < 3; i++) {
            world.limiter.acquire(World.KEY).subscribe();
        }
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 1);
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 1);
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 2);
        assertThat(world.denied).isEmpty();
        assertThat(world.share.queued()).isEqualTo(3);
        world.pass(2_000);
        assertThat(world.departures).hasSize(3);
        world.assertQuiet();
    }

    @Test
    void tenantAndClassComeFromTheContextOfASubscriber() {
        World world = world();
        Mono<String> call = Mono.just("answer")
                .transform(limitRate(
                        world.share.limiterFromContext(context -> context.get("class")),
                        spec -> spec.keyFromContext(context -> context.get("tenant"))));
        List<String> order = new ArrayList<>();
        for (String who : List.of("batch", "batch", "interactive", "batch")) {
            call.contextWrite(context -> context.put("class", who).put("tenant", "t"))
                    .subscribe(answer -> order.add(who));
        }
        world.pass(100);
        assertThat(order).containsExactly("batch", "interactive", "batch", "batch");
        List<Throwable> failures = new ArrayList<>();
        call.contextWrite(context -> context.put("class", "none").put("tenant", "t"))
                .subscribe(answer -> {}, failures::add);
        world.pass(100);
        world.share.limiterFromContext(context -> "none").acquire("t").subscribe(answer -> {}, failures::add);
        assertThat(failures).isNotEmpty().last().isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void concurrencyLimitIsSharedByClassToo() {
        World world = new World(ConcurrencyLimit.of(1), spec -> spec.classes("interactive", "batch"));
        List<String> order = new ArrayList<>();
        List<Lease> leases = new ArrayList<>();
        for (String who : List.of("batch", "batch", "interactive")) {
            world.share.limiter(who).acquireLease("t", 1, World.HOWEVER_LONG).subscribe(lease -> {
                order.add(who);
                leases.add(lease);
            });
        }
        assertThat(order).containsExactly("batch");
        leases.get(0).release().block();
        leases.get(1).release().block();
        assertThat(order).containsExactly("batch", "interactive", "batch");
        assertThatThrownBy(() -> world.share.acquire("t", "batch", 1, PATIENCE))
                .isInstanceOf(IllegalStateException.class);
        List<Throwable> denied = new ArrayList<>();
        world.share.limiter("interactive").acquireLease("t", 1, ofMillis(10)).subscribe(lease -> {}, denied::add);
        world.pass(10);
        assertThat(denied).singleElement().isInstanceOf(RateLimitExceededException.class);
        leases.get(2).release().block();
        assertThat(world.share.limiter("batch").use("t", 1, Mono.just(1)).blockLast())
                .isEqualTo(1);
        assertThat(world.limiter.peek(World.KEY).block().remaining()).isEqualTo(1);
    }

    /** Subscribers are told in the midst of granting here: an urgent call for two comes while one for one is being granted. */
    @Test
    void grantIsNeverGivenToACallThatAskedForAnotherNumber() {
        RateLimiter limiter = RateLimiter.builder(ConcurrencyLimit.of(4))
                .scheduler(Schedulers.immediate())
                .build();
        FairShare share = FairShare.over(limiter, "k")
                .classes("interactive", "batch")
                .scheduler(Schedulers.immediate())
                .build();
        Lease held = limiter.acquireLease("k", 4, Duration.ZERO).block();
        List<Long> batch = new ArrayList<>();
        List<Long> urgent = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            share.limiter("batch").acquireLease("b", 1, World.HOWEVER_LONG).subscribe(lease -> {
                batch.add(lease.decision().permits());
                if (batch.size() == 1) {
                    share.limiter("interactive")
                            .acquireLease("u", 2, World.HOWEVER_LONG)
                            .subscribe(two -> urgent.add(two.decision().permits()));
                }
            });
        }
        held.release().block();
        assertThat(urgent).containsExactly(2L);
        assertThat(batch).containsExactly(1L, 1L);
        assertThat(limiter.peek("k").block().remaining()).isZero();
    }

    @Test
    void reservationsWaitInTheSameLine() {
        World world =
                new World(TokenBucket.of(1, ofMillis(10)).withBurst(10), spec -> spec.classes("interactive", "batch"));
        List<Reservation> reserved = new ArrayList<>();
        world.call("nightly", "batch", 10);
        world.call("nightly", "batch", 10);
        world.share.limiter("interactive").reserve("u", 5).subscribe(reserved::add);
        world.pass(50);
        assertThat(reserved).hasSize(1);
        reserved.get(0).settle(1).block();
        assertThat(world.departures).hasSize(1);
        world.pass(60);
        assertThat(world.departures).hasSize(2);
        world.assertQuiet();
    }

    /** A subscriber stands still until another one, answered after it, has been told. */
    @Test
    void slowSubscriberDelaysOnlyItself() throws InterruptedException {
        RateLimiter limiter = RateLimiter.of(ConcurrencyLimit.of(1));
        FairShare share = FairShare.over(limiter, "k").build();
        RateLimiter view = share.limiter(FairShareBuilder.DEFAULT_CLASS);
        Lease held = view.acquireLease("a", 1, World.HOWEVER_LONG).block(PATIENCE);
        CountDownLatch secondTold = new CountDownLatch(1);
        CountDownLatch firstDone = new CountDownLatch(1);
        view.acquireLease("a", 1, World.HOWEVER_LONG).subscribe(lease -> {
            lease.release().subscribe();
            awaitQuietly(secondTold);
            firstDone.countDown();
        });
        view.acquireLease("a", 1, World.HOWEVER_LONG).subscribe(lease -> secondTold.countDown());
        held.release().block(PATIENCE);
        assertThat(firstDone.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        share.close().block(PATIENCE);
        limiter.close().block(PATIENCE);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            assertThat(latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void schedulerThatTakesNoTasksFailsThoseWhoNeedATimer() {
        RateLimiter limiter = RateLimiter.of(TokenBucket.perHour(1));
        Scheduler scheduler = Schedulers.newSingle("fair-gone");
        FairShare share = FairShare.over(limiter, "k").scheduler(scheduler).build();
        share.acquire("a", FairShareBuilder.DEFAULT_CLASS, 1, PATIENCE).block(PATIENCE);
        scheduler.dispose();
        List<Throwable> failures = new ArrayList<>();
        share.acquire("a", FairShareBuilder.DEFAULT_CLASS, 1, PATIENCE).subscribe(any -> {}, failures::add);
        assertThat(failures).singleElement().isInstanceOf(RateLimiterClosedException.class);
        limiter.close().block(PATIENCE);
    }

    @Test
    void nothingHappensBeforeSubscriptionAndEachAsksAgain() {
        World world = new World(TokenBucket.perHour(2), spec -> spec);
        Mono<Decision> call = world.share.acquire("a", FairShareBuilder.DEFAULT_CLASS, 1, Duration.ZERO);
        assertThat(world.limiter.peek(World.KEY).block().remaining()).isEqualTo(2);
        assertThat(call.block().allowed()).isTrue();
        assertThat(call.block().allowed()).isTrue();
        assertThat(call.block().allowed()).isFalse();
    }

    @Test
    void weightFunctionThatFailsFailsTheCall() {
        World world = new World(TokenBucket.perHour(2), spec -> spec.weights(tenant -> 0));
        world.call("a", FairShareBuilder.DEFAULT_CLASS, 1);
        assertThat(world.failures).singleElement().isInstanceOf(IllegalArgumentException.class);
        world.assertQuiet();
    }

    private static List<Object> toldAtOnce(RateLimiter limiter, UnaryOperator<LimitSpec<String>> spec) {
        List<Object> told = new ArrayList<>();
        Mono.just("sent")
                .transform(limitRate(limiter, gate -> spec.apply(gate.key("a"))))
                .subscribe(told::add, told::add);
        return told;
    }

    @Test
    void wrongClassOrWeightFailsTheCallAlsoWhileThereArePermits() {
        World world = world();
        World weightless = new World(TokenBucket.perHour(9), spec -> spec.weights(tenant -> 0));
        RateLimiter misspelt = world.share.limiterFromContext(context -> "interctive");
        RateLimiter unweighted = weightless.share.limiter(FairShareBuilder.DEFAULT_CLASS);

        for (RateLimiter wrong : List.of(misspelt, unweighted)) {
            assertThat(toldAtOnce(wrong, gate -> gate)).singleElement().isInstanceOf(IllegalArgumentException.class);
            assertThat(toldAtOnce(wrong, LimitSpec::reject))
                    .singleElement()
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(DirectLimiter.of(wrong).tryAcquireNow("a", 1)).isFalse();
            assertThatThrownBy(() -> wrong.tryAcquire("a").block()).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(DirectLimiter.of(world.limiter).tryAcquireNow(World.KEY, 1))
                .as("nothing was taken")
                .isTrue();
        assertThat(weightless.limiter.peek(World.KEY).block().remaining()).isEqualTo(9);
    }

    @Test
    void badArgumentsAreRefusedAtOnce() {
        World world = world();
        FairShare share = world.share;
        assertThatThrownBy(() -> share.acquire("", "batch", 1, PATIENCE)).hasMessageContaining("tenant");
        assertThatThrownBy(() -> share.acquire("a", "none", 1, PATIENCE)).hasMessageContaining("interactive");
        assertThatThrownBy(() -> share.acquire("a", "batch", 0, PATIENCE)).hasMessageContaining("permits");
        assertThatThrownBy(() -> share.acquire("a", "batch", (1L << 40) + 1, PATIENCE))
                .hasMessageContaining("permits");
        assertThatThrownBy(() -> share.acquire("a", "batch", 1, ofMillis(-1))).hasMessageContaining("maxWait");
        FairShareBuilder builder = FairShare.over(world.limiter, "k");
        assertThatThrownBy(() -> FairShare.over(world.limiter, "")).hasMessageContaining("key");
        assertThatThrownBy(() -> builder.classes()).hasMessageContaining("classes");
        assertThatThrownBy(() -> builder.classes("a", "a")).hasMessageContaining("different");
        assertThatThrownBy(() -> builder.weight("a", 0)).hasMessageContaining("weight");
        assertThatThrownBy(() -> builder.lowerClassesGetOneIn(1)).hasMessageContaining("between 2");
        assertThatThrownBy(() -> builder.maxQueuedPerClass(0)).hasMessageContaining("positive");
        assertThatThrownBy(() -> builder.maxQueuedPerTenant(0)).hasMessageContaining("positive");
        assertThatThrownBy(() -> builder.askAhead(Duration.ZERO)).hasMessageContaining("positive");
        assertThatThrownBy(() ->
                        builder.classes("a", "b", "c").lowerClassesGetOneIn(3).build())
                .hasMessageContaining("lowerClassesGetOneIn(4)");
    }

    @Test
    void waitingCallCanBeScanned() {
        World world = world();
        world.call("a", "batch", 1);
        List<Scannable> seen = new ArrayList<>();
        Disposable wait = world.share
                .acquire("a", "batch", 1, World.HOWEVER_LONG)
                .doOnSubscribe(subscription -> seen.add(Scannable.from(subscription)))
                .subscribe();
        assertThat(seen).singleElement().matches(Scannable::isScanAvailable);
        wait.dispose();
    }
}

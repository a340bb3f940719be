package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Decision.Degradation;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.LimiterState;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.queue.KeyQueues;
import io.github.reactorratelimit.queue.QueuedKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A line that books times ahead, in front of a desk worked by hand: a slot every 100 ms. */
class ReservationQueueTest {

    private static final Gcra POLICY = Gcra.perSecond(10).withBurst(9);
    private static final Duration FOREVER = Duration.ofNanos(LimiterState.UNBOUNDED);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final KeyQueues<ReservingKey, ReservationQueue> lines = new KeyQueues<>(
            new LimiterSettings("line", POLICY, time, time, RateLimitRecorder.NOOP, 10, true),
            (runtime, state) -> new ReservationQueue(runtime, 10, state));
    private final HandDesk desk = new HandDesk();
    private final List<String> events = new ArrayList<>();

    @AfterEach
    void dispose() {
        time.dispose();
    }

    private Disposable wait(String name, long permits, Duration maxWait) {
        return lines.<Decision>await(desk, permits, maxWait.toNanos())
                .subscribe(
                        decision -> happened(name + (decision.allowed() ? " left" : " denied")),
                        error -> happened(name + " failed"));
    }

    private void happened(String what) {
        events.add(what + " at " + time.now(TimeUnit.MILLISECONDS));
    }

    private void advance(int millis) {
        time.advanceTimeBy(ofMillis(millis));
    }

    /** Hands out slots one after the other, freed ones first if it is told to. */
    private final class HandDesk implements ReservingKey {

        final List<Long> freed = new ArrayList<>();
        final List<Long> booked = new ArrayList<>();
        long nextMillis = 100;
        long shiftMillis;
        int generation;
        int refreshes;

        @Nullable
        RuntimeException refreshError;

        Mono<Object> instead = Mono.empty();
        Mono<Void> refreshing = Mono.empty();

        @Override
        public String key() {
            return "k";
        }

        @Override
        public long now() {
            return time.now(TimeUnit.NANOSECONDS);
        }

        @Override
        public Mono<?> reserve(long permits, long maxWaitNanos) {
            return instead.switchIfEmpty(Mono.fromSupplier(() -> {
                if (ofMillis(nextMillis).toNanos() - now() > maxWaitNanos && maxWaitNanos != LimiterState.UNBOUNDED) {
                    return denial(permits, ofMillis(nextMillis).toNanos() - now());
                }
                booked.add(nextMillis);
                ReservationQueueTest.Slot slot = new ReservationQueueTest.Slot(nextMillis, permits, generation);
                nextMillis += 100;
                return slot;
            }));
        }

        @Override
        public Mono<Void> refresh() {
            refreshes++;
            return refreshError == null ? refreshing : Mono.error(refreshError);
        }

        @Override
        public void refund(Debit debit) {
            happened("refund of " + debit.permits());
        }

        @Override
        public Decision deny(long now, long permits, long grantedAt) {
            return denial(permits, QueuedKey.retryAfter(now, grantedAt));
        }

        private Decision denial(long permits, long retryAfterNanos) {
            return Decision.deny(POLICY, permits, 0, Decision.UNKNOWN, retryAfterNanos);
        }
    }

    private final class Slot implements ReservingKey.Slot {

        private final long millis;
        private final long permits;
        private final int generation;

        Slot(long millis, long permits, int generation) {
            this.millis = millis;
            this.permits = permits;
            this.generation = generation;
        }

        @Override
        public long permits() {
            return permits;
        }

        @Override
        public long at() {
            return ofMillis(millis + desk.shiftMillis).toNanos();
        }

        @Override
        public long order() {
            return millis;
        }

        @Override
        public boolean isVoid() {
            return generation != desk.generation;
        }

        @Override
        public @Nullable Decision use(long now) {
            if (at() > now) {
                return null;
            }
            return Decision.allow(POLICY, 0, 0, Decision.UNKNOWN, new Debit(desk, "k", POLICY, permits, millis));
        }

        @Override
        public void free() {
            desk.freed.add(millis);
        }
    }

    @Test
    void everybodyLeavesAtTheTimeThatWasBooked() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        wait("c", 2, FOREVER);
        advance(1_000);

        assertThat(events).containsExactly("a left at 100", "b left at 200", "c left at 300");
        assertThat(desk.freed).isEmpty();
    }

    @Test
    void whoLeavesLetsThoseBehindMoveUpAndTheLastBookingGoesBack() {
        wait("a", 1, FOREVER);
        Disposable b = wait("b", 1, FOREVER);
        wait("c", 1, FOREVER);
        wait("d", 1, FOREVER);
        b.dispose();
        advance(1_000);

        assertThat(desk.freed).containsExactly(400L);
        assertThat(events).containsExactly("a left at 100", "c left at 200", "d left at 300");
    }

    @Test
    void bookingsAreOnlyHandedToThoseWhoAskedForAsMuch() {
        Disposable a = wait("a", 1, FOREVER);
        wait("b", 2, FOREVER);
        wait("c", 1, FOREVER);
        a.dispose();
        advance(1_000);

        assertThat(desk.freed).containsExactly(300L);
        assertThat(events).containsExactly("c left at 100", "b left at 200");
    }

    @Test
    void bookingThatComesWhenItsWaiterHasLeftGoesBack() {
        Sinks.One<Object> answer = Sinks.one();
        desk.instead = answer.asMono();
        wait("a", 1, FOREVER).dispose();
        answer.tryEmitValue(new Slot(100, 1, 0));
        advance(1_000);

        assertThat(desk.freed).containsExactly(100L);
        assertThat(events).isEmpty();
        assertThat(lines.runtime().pending()).isZero();
    }

    @Test
    void whoseSlotIsTooFarIsDeniedAtOnce() {
        wait("a", 1, FOREVER);
        wait("b", 1, ofMillis(199));
        wait("c", 1, ofMillis(200));
        advance(1_000);

        assertThat(events).containsExactly("b denied at 0", "a left at 100", "c left at 200");
    }

    @Test
    void pauseMovesEverybodyAndDeniesWhoCannotOutlastIt() {
        wait("a", 1, FOREVER);
        wait("b", 1, ofMillis(450));
        wait("c", 1, FOREVER);
        advance(50);
        desk.shiftMillis = 300;
        lines.ifWaiting("k", ReservationQueue::refresh);
        advance(1_000);

        assertThat(events).containsExactly("b denied at 50", "a left at 400", "c left at 500");
        assertThat(desk.freed).containsExactly(300L);
    }

    @Test
    void voidBookingsAreBookedAnewInOrder() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        advance(50);
        desk.generation = 1;
        desk.nextMillis = 70;
        lines.ifWaiting("k", ReservationQueue::refresh);
        advance(1_000);

        assertThat(events).containsExactly("a left at 70", "b left at 170");
        assertThat(desk.freed).isEmpty();
    }

    @Test
    void otherDeskBooksEverybodyAnew() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        HandDesk other = new HandDesk();
        other.nextMillis = 500;
        lines.ifWaiting("k", queue -> queue.reschedule(other));
        advance(1_000);

        assertThat(desk.freed).containsExactly(200L, 100L);
        assertThat(events).containsExactly("a left at 500", "b left at 600");
    }

    @Test
    void earlierSlotThatSomebodyGaveBackIsSwappedForTheLast() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        desk.nextMillis = 150;
        lines.ifWaiting("k", ReservationQueue::swap);
        advance(1_000);

        assertThat(desk.freed).containsExactly(200L);
        assertThat(events).containsExactly("a left at 100", "b left at 150");
    }

    @Test
    void nothingIsSwappedForWhatIsNotEarlier() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        lines.ifWaiting("k", ReservationQueue::swap);
        advance(1_000);

        assertThat(desk.booked).containsExactly(100L, 200L);
        assertThat(events).containsExactly("a left at 100", "b left at 200");
    }

    @Test
    void whoIsDeniedByAStandInAsksAgainWhenItSaid() {
        Decision away = desk.denial(1, ofMillis(500).toNanos()).asDegraded(Degradation.CLOSED);
        desk.instead = Mono.just(away);
        wait("a", 1, FOREVER);
        wait("b", 1, ofMillis(499));
        desk.instead = Mono.empty();
        desk.nextMillis = 600;
        advance(1_000);

        assertThat(events).containsExactly("b denied at 0", "a left at 600");
    }

    @Test
    void whoseBookingServedSomebodyBeforeItGetsAnother() {
        Decision away = desk.denial(1, ofMillis(500).toNanos()).asDegraded(Degradation.CLOSED);
        desk.instead = Mono.just(away);
        wait("a", 1, FOREVER);
        desk.instead = Mono.empty();
        wait("b", 1, FOREVER);
        advance(1_000);

        assertThat(events).containsExactly("a left at 100", "b left at 500");
        assertThat(lines.runtime().pending()).isZero();
    }

    @Test
    void standInMayGrant() {
        Decision alone = Decision.wouldAllow(POLICY, 1, 9, 0, Decision.UNKNOWN).asDegraded(Degradation.CLOSED);
        desk.instead = Mono.just(alone);
        wait("a", 1, FOREVER);
        advance(1);

        assertThat(events).containsExactly("a left at 0");
    }

    @Test
    void errorOfTheDeskIsTheWaiters() {
        desk.instead = Mono.error(new IllegalStateException("broken"));
        wait("a", 1, FOREVER);
        advance(1);

        assertThat(events).containsExactly("a failed at 0");
        assertThat(lines.runtime().pending()).isZero();
    }

    @Test
    void whoLeavesBeforeTheLineLooksAtItTakesNobodyElsesPlace() {
        desk.instead = Mono.defer(() -> {
            desk.instead = Mono.empty();
            wait("b", 1, FOREVER).dispose();
            return Mono.empty();
        });
        wait("a", 1, FOREVER);
        advance(1_000);

        assertThat(events).containsExactly("a left at 100");
        assertThat(lines.runtime().pending()).isZero();
    }

    @Test
    void whoseTurnBecomesTooLateBecauseSomebodyMovesUpIsDenied() {
        desk.nextMillis = 800;
        wait("a", 1, ofMillis(1_000));
        desk.nextMillis = 20;
        wait("b", 1, ofMillis(50));
        advance(1_000);

        assertThat(events).containsExactly("b denied at 0", "a left at 20");
        assertThat(desk.freed).containsExactly(800L);
    }

    @Test
    void refreshThatFailsIsTriedAgain() {
        wait("a", 1, FOREVER);
        desk.refreshError = new IllegalStateException("away");
        lines.ifWaiting("k", ReservationQueue::refresh);
        desk.refreshError = null;
        desk.shiftMillis = 0;
        advance(60);

        assertThat(desk.refreshes).isEqualTo(2);
    }

    @Test
    void fullLineDenies() {
        for (int i = 0; i < 11; i++) {
            wait("w" + i, 1, FOREVER);
        }
        advance(1);

        assertThat(events).containsExactly("w10 denied at 0");
    }

    @Test
    void closeFailsEverybodyAndGivesAllBookingsBack() {
        wait("a", 1, FOREVER);
        wait("b", 1, FOREVER);
        lines.close().subscribe(null, null, () -> happened("closed"));
        advance(1);

        assertThat(events).containsExactly("a failed at 0", "b failed at 0", "closed at 0");
        assertThat(desk.freed).containsExactlyInAnyOrder(100L, 200L);
    }

    /** As if another thread worked the line off: what is done inside {@code book} comes while the line has an owner. */
    @Test
    void whoAsksBehindTheLineFindsThoseBookedWhoJoinedBefore() {
        List<Integer> bookedWhenAsked = new ArrayList<>();
        desk.instead = Mono.defer(() -> {
            desk.instead = Mono.empty();
            wait("b", 1, FOREVER);
            wait("c", 1, FOREVER);
            lines.behind("k").subscribe(nothing -> {}, error -> {}, () -> bookedWhenAsked.add(desk.booked.size()));
            return Mono.empty();
        });
        wait("a", 1, FOREVER);
        assertThat(bookedWhenAsked).containsExactly(3);
    }

    @Test
    void whoAsksBehindTheLineFindsTheSlotsFreeOfThoseWhoLeftBefore() {
        Disposable first = wait("a", 1, FOREVER);
        List<Integer> freedWhenAsked = new ArrayList<>();
        desk.instead = Mono.defer(() -> {
            desk.instead = Mono.empty();
            first.dispose();
            lines.behind("k").subscribe(nothing -> {}, error -> {}, () -> freedWhenAsked.add(desk.freed.size()));
            return Mono.empty();
        });
        wait("b", 1, FOREVER);
        assertThat(freedWhenAsked).containsExactly(1);
    }

    @Test
    void whoAsksBehindNobodyAsksAtOnce() {
        List<String> asked = new ArrayList<>();
        lines.behind("k").subscribe(nothing -> {}, error -> {}, () -> asked.add("asked"));
        wait("a", 1, FOREVER).dispose();
        lines.behind("k").subscribe(nothing -> {}, error -> {}, () -> asked.add("asked again"));
        assertThat(asked).containsExactly("asked", "asked again");
    }

    @Test
    void whatHappensWhileBookingsAreReadIsReadAfterwards() {
        Sinks.Empty<Void> underWay = Sinks.empty();
        desk.refreshing = underWay.asMono();
        wait("a", 1, FOREVER);
        lines.ifWaiting("k", ReservationQueue::refresh);
        lines.ifWaiting("k", ReservationQueue::refresh);
        assertThat(desk.refreshes).isEqualTo(1);
        desk.refreshing = Mono.empty();
        underWay.tryEmitEmpty();
        assertThat(desk.refreshes).isEqualTo(2);
    }
}

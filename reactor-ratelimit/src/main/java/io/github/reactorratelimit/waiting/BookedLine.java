package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A line in front of a state elsewhere that is debited for a time ahead. Whoever joins books a time; the
 * bookings belong to the line. At the time of a booking the first of those who asked for as many permits
 * leaves, so when somebody gives up, those behind move up, and the last booking is given back. Who asked
 * for the same number never overtakes; nobody is delayed by anybody who came later.
 *
 * <p>There is a booking or a wish under way for everybody, or a time at which to wish again: those whose wish was
 * answered by a stand-in, because the state did not answer, or whose booking became void, wish again.
 */
final class BookedLine extends Line {

    /** How long to wait where a stand-in's denial could not say. */
    private static final long BLIND_RETRY_NANOS = Duration.ofMillis(50).toNanos();

    /** A stand-in knows nothing of when the state answers again. */
    private static final long MAX_RETRY_NANOS = Duration.ofMillis(500).toNanos();

    /** How late a booking may come to lie because its time had to be carried over from another clock. */
    private static final long GRACE_NANOS = Duration.ofMillis(5).toNanos();

    private final BookedLines lines;
    private volatile BookingDesk desk;
    private volatile @Nullable BookingDesk otherDesk;
    private final Queue<Reply> replies = new ConcurrentLinkedQueue<>();
    private volatile boolean refreshWanted;
    private volatile boolean refreshed;
    private volatile boolean refreshFailed;
    private volatile boolean exchangeWanted;

    /** The owner's, as are the fields below. */
    private final Map<Long, Lane> lanes = new HashMap<>();

    /** When to wish for those who have no booking and no wish under way; {@link Algorithm#UNKNOWN} for at once. */
    private long wishAgainAt = Algorithm.UNKNOWN;

    private int wishes;
    private boolean refreshing;

    /** When to try again to find out what became of the bookings. */
    private long refreshAt = Algorithm.UNKNOWN;

    /** What came from a desk for a wish; of nobody if the line made it for itself. */
    private record Reply(BookingDesk from, @Nullable Waiter waiter, long permits, Object answer) {}

    BookedLine(BookedLines lines, long id, String key, BookingDesk desk) {
        super(lines, id, key);
        this.lines = lines;
        this.desk = desk;
    }

    /** The bookings may have been moved, or become void. */
    void refresh() {
        refreshWanted = true;
        poke();
    }

    /** Everybody books anew at another desk: the key has another policy. */
    void replan(BookingDesk other) {
        otherDesk = other;
        poke();
    }

    /** Somebody elsewhere gave a booking back: perhaps it is earlier than ours. */
    void exchange() {
        exchangeWanted = true;
        poke();
    }

    @Override
    long now() {
        return desk.now();
    }

    /** A booking under way must find somebody who uses it or gives it back. */
    @Override
    boolean isBusy() {
        return wishes > 0;
    }

    @Override
    void left() {}

    @Override
    void unlinked(Waiter waiter) {
        Lane lane = lanes.get(waiter.permits);
        if (lane != null) {
            lane.left();
        }
    }

    @Override
    void admit(Waiter newcomer, long now) {
        Lane lane = lanes.computeIfAbsent(newcomer.permits, permits -> new Lane());
        lane.join(newcomer);
        if (waiters.size() > lines.maxWaiters()) {
            deny(newcomer, now, Algorithm.UNKNOWN);
        } else {
            wish(newcomer, lane, now);
        }
    }

    private void wish(Waiter waiter, Lane lane, long now) {
        lane.wishes++;
        wish(waiter, waiter.permits, waiter.notAfter, now);
    }

    private void wish(@Nullable Waiter waiter, long permits, long notAfter, long now) {
        wishes++;
        BookingDesk asked = desk;
        long maxWait = notAfter == Long.MAX_VALUE ? notAfter : Math.max(0, notAfter - now);
        Mono.defer(() -> asked.book(permits, maxWait))
                .cast(Object.class)
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no answer")))
                .subscribe(
                        answer -> replied(new Reply(asked, waiter, permits, answer)),
                        error -> replied(new Reply(asked, waiter, permits, error)));
    }

    private void replied(Reply reply) {
        replies.offer(reply);
        poke();
    }

    @Override
    long serve(long now) {
        changeDesk();
        startRefresh();
        for (Reply reply = replies.poll(); reply != null; reply = replies.poll()) {
            wishes--;
            take(reply, now);
        }
        if (refreshed) {
            refreshed = false;
            reconsider(now);
            // What happened while it was under way it may not have seen.
            startRefresh();
        }
        long next = refreshAgain(now);
        expire(now);
        for (Lane lane : lanes.values()) {
            next = Math.min(next, serve(lane, now));
        }
        if (exchangeWanted) {
            exchangeWanted = false;
            exchangeLast(now);
        }
        next = Math.min(next, wishAgain(now));
        lanes.values().removeIf(Lane::isEmpty);
        return next;
    }

    private void changeDesk() {
        BookingDesk other = otherDesk;
        if (other != null) {
            otherDesk = null;
            desk = other;
            lanes.values().forEach(Lane::freeAll);
            wishAgainAt = Algorithm.UNKNOWN;
        }
    }

    private long refreshAgain(long now) {
        if (refreshFailed) {
            refreshFailed = false;
            refreshAt = now + BLIND_RETRY_NANOS;
        }
        if (refreshAt <= now) {
            refreshAt = Algorithm.UNKNOWN;
            refresh();
        }
        return refreshAt;
    }

    private void startRefresh() {
        if (refreshWanted && !refreshing) {
            refreshWanted = false;
            refreshing = true;
            wishes++;
            desk.refresh().subscribe(nothing -> {}, failed -> refreshFailed(), this::refreshEnded);
        }
    }

    /** Whatever moved the bookings is not known yet. */
    private void refreshFailed() {
        refreshFailed = true;
        refreshEnded();
    }

    private void refreshEnded() {
        refreshed = true;
        poke();
    }

    private void take(Reply reply, long now) {
        Waiter waiter = reply.waiter;
        Lane lane = lanes.computeIfAbsent(reply.permits, permits -> new Lane());
        if (waiter != null) {
            lane.wishes--;
        }
        if (reply.answer instanceof BookingDesk.Answer answer) {
            if (answer.booking() != null) {
                book(reply, lane, answer.booking());
            } else if (answer.decision() != null) {
                if (waiter != null && waiter.linked) {
                    told(waiter, answer.decision(), now);
                } else {
                    giveBack(answer.decision());
                }
            }
        } else if (reply.answer instanceof Throwable failure && waiter != null && waiter.linked) {
            fail(waiter, failure, WaitOutcome.DENIED);
        }
    }

    private void book(Reply reply, Lane lane, Booking booking) {
        if (reply.from == desk) {
            if (lane.add(booking)) {
                denyWhoseTurnComesTooLate(lane, desk.now());
            }
            exchangeWanted |= reply.waiter == null;
        } else {
            booking.free();
        }
    }

    private void giveBack(Decision decision) {
        decision.debit().filter(Debit::claim).ifPresent(desk::refund);
    }

    /** There was no booking. A denial of the state itself is final; one of a stand-in holds for a while. */
    private void told(Waiter waiter, Decision decision, long now) {
        if (decision.allowed()) {
            if (!answer(waiter, decision)) {
                giveBack(decision);
            }
            return;
        }
        long retry = decision.retryAfter().map(Duration::toNanos).orElse(BLIND_RETRY_NANOS);
        if (decision.degraded() && (waiter.notAfter == Long.MAX_VALUE || retry <= waiter.notAfter - now)) {
            if (waiter.hasDeadline()) {
                waiters.watch(waiter);
            }
            wishAgainAt = Math.min(wishAgainAt, now + Math.min(retry, MAX_RETRY_NANOS));
        } else {
            answer(waiter, decision);
        }
    }

    /**
     * Wishes for those who have no booking and no wish under way: a stand-in denied them, their booking became void, or
     * somebody before them in their lane used what they had wished for.
     */
    private long wishAgain(long now) {
        if (lanes.values().stream().noneMatch(Lane::lacks)) {
            return Algorithm.UNKNOWN;
        }
        if (wishAgainAt != Algorithm.UNKNOWN && wishAgainAt > now) {
            return wishAgainAt;
        }
        wishAgainAt = Algorithm.UNKNOWN;
        for (Lane lane : lanes.values()) {
            lane.lacking().forEach(waiter -> wish(waiter, lane, now));
        }
        return Algorithm.UNKNOWN;
    }

    private long serve(Lane lane, long now) {
        if (lane.dropVoid()) {
            wishAgainAt = Algorithm.UNKNOWN;
        }
        for (Booking first = lane.first(); first != null; first = lane.first()) {
            long at = first.at();
            Decision decision = first.use(now);
            if (decision == null) {
                break;
            }
            lane.removeFirst();
            grant(lane, decision, at);
        }
        for (Booking last = lane.last(); last != null && lane.hasSurplus(); last = lane.last()) {
            lane.removeLast();
            last.free();
        }
        Booking first = lane.first();
        return first == null ? Algorithm.UNKNOWN : first.at();
    }

    private void grant(Lane lane, Decision decision, long at) {
        for (Waiter head = lane.poll(); head != null; head = lane.poll()) {
            head.slotAt = at;
            if (answer(head, decision)) {
                return;
            }
        }
        giveBack(decision);
    }

    /** After a pause: those whose time has come to lie behind their patience need not wait for it. */
    private void reconsider(long now) {
        refreshing = false;
        wishes--;
        for (Lane lane : lanes.values()) {
            denyWhoseTurnComesTooLate(lane, now);
        }
    }

    private void denyWhoseTurnComesTooLate(Lane lane, long now) {
        lane.forEachBooked((waiter, booking) -> {
            if (waiter.hasDeadline() && !booking.isVoid() && booking.at() - GRACE_NANOS > waiter.notAfter) {
                deny(waiter, now, booking.at());
            }
        });
    }

    /** Tries to swap the last booking for an earlier one that somebody gave back. */
    private void exchangeLast(long now) {
        Booking last = null;
        for (Lane lane : lanes.values()) {
            Booking candidate = lane.last();
            if (candidate != null && (last == null || candidate.order() > last.order())) {
                last = candidate;
            }
        }
        if (last != null && last.at() - now > BookedLines.WORTH_AN_EXCHANGE_NANOS) {
            wish(null, last.permits(), last.at() - BookedLines.WORTH_AN_EXCHANGE_NANOS, now);
        }
    }

    @Override
    void deny(Waiter waiter, long now, long grantedAt) {
        long retryAfter = grantedAt == Algorithm.UNKNOWN ? grantedAt : grantedAt - now;
        answer(waiter, desk.deny(waiter.permits, retryAfter));
    }
}

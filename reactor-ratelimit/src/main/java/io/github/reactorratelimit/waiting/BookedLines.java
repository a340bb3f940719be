package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.LimiterSettings;
import java.time.Duration;
import reactor.core.publisher.Mono;

/** The lines of one limiter whose state is elsewhere and can be debited for a time ahead. */
public final class BookedLines extends WaitingRoom<BookedLine> {

    /** What is not earlier by as much is not worth a round trip. */
    static final long WORTH_AN_EXCHANGE_NANOS = Duration.ofMillis(1).toNanos();

    public BookedLines(LimiterSettings settings) {
        super(settings);
    }

    /** Waits in line at {@code desk} for the permits of {@code key}. */
    public Mono<Decision> await(String key, BookingDesk desk, long permits, long maxWaitNanos) {
        Place place = new DistantPlace<>(this, key, desk, (name, id) -> new BookedLine(this, id, name, desk));
        return new MonoAwait(this, place, permits, maxWaitNanos);
    }

    /** The bookings of a key may have been moved, or become void. */
    public void refresh(String key) {
        BookedLine line = line(key);
        if (line != null) {
            line.refresh();
        }
    }

    /** The key has another policy: those who wait for it book anew at {@code desk}. */
    public void replan(String key, BookingDesk desk) {
        BookedLine line = line(key);
        if (line != null) {
            line.replan(desk);
        }
    }

    /** The bookings of any key may have been moved, or become void. */
    public void refreshAll() {
        forEachLine(BookedLine::refresh);
    }

    /** Somebody elsewhere gave back a booking of the key. */
    public void exchange(String key) {
        BookedLine line = line(key);
        if (line != null) {
            line.exchange();
        }
    }
}

package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Decision;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** What a line stands in front of when the state of its key is elsewhere and can be debited for a time ahead. */
public non-sealed interface BookingDesk extends DistantDesk {

    /**
     * The answer to a wish: a booking, or a decision where there is none.
     *
     * @param booking the time that was reserved
     * @param decision a denial; or a grant by whoever stands in for a state that does not answer
     */
    record Answer(@Nullable Booking booking, @Nullable Decision decision) {

        /** A time was reserved. */
        public static Answer of(Booking booking) {
            return new Answer(booking, null);
        }

        /** Nothing was reserved. */
        public static Answer of(Decision decision) {
            return new Answer(null, decision);
        }
    }

    /** Reserves permits for the next time that is free, at most {@code maxWaitNanos} ahead. One answer or one error, on any thread. */
    Mono<Answer> book(long permits, long maxWaitNanos);

    /** Finds out what became of the bookings; completes when they tell it. */
    Mono<Void> refresh();
}

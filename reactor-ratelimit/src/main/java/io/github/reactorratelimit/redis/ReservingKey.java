package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.queue.QueuedKey;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** A key whose permits can be debited for a time ahead. */
interface ReservingKey extends QueuedKey {

    /**
     * The answer to a reservation: a slot, or a decision if there is none.
     *
     * @param slot the time that was reserved
     * @param decision a denial; or a grant by the fallback of a store that does not answer
     */
    record Answer(@Nullable ReservedSlot slot, @Nullable Decision decision) {

        /** A time was reserved. */
        public static Answer of(ReservedSlot slot) {
            return new Answer(slot, null);
        }

        /** Nothing was reserved. */
        public static Answer of(Decision decision) {
            return new Answer(null, decision);
        }
    }

    /** Reserves permits for the next time that is free, at most {@code maxWaitNanos} ahead. One answer or one error, on any thread. */
    Mono<Answer> reserve(long permits, long maxWaitNanos);

    /** Finds out what became of the slots; completes when they tell it. */
    Mono<Void> refresh();

    /** Looks whether the slots are still there, together with those of other keys; completes when they tell it. */
    default Mono<Void> recheck() {
        return Mono.empty();
    }
}

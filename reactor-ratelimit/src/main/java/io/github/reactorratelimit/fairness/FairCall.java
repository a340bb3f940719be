package io.github.reactorratelimit.fairness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.queue.QueuedRequest;
import io.github.reactorratelimit.queue.Waiter;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/** One call that waits for permits. */
final class FairCall implements QueuedRequest {

    private final String key;
    private final Scheduler clock;
    private final BiConsumer<RequestedPermits, Object> giveBack;

    final String tenant;

    /** 0 for the class that goes first. */
    final int rank;

    final RequestedPermits requested;
    final long weight;

    /** The fields below belong to the drain loop of the queue. The order of arrival in its class. */
    long order;

    @Nullable
    Waiter<FairCall> waiter;

    /** @param giveBack takes a grant that the subscriber did not receive */
    FairCall(
            String key,
            Scheduler clock,
            BiConsumer<RequestedPermits, Object> giveBack,
            String tenant,
            int rank,
            RequestedPermits requested,
            long weight) {
        this.key = key;
        this.clock = clock;
        this.giveBack = giveBack;
        this.tenant = tenant;
        this.rank = rank;
        this.requested = requested;
        this.weight = weight;
    }

    @Override
    public String key() {
        return key;
    }

    @Override
    public long now() {
        return clock.now(TimeUnit.NANOSECONDS);
    }

    long permits() {
        return requested.permits();
    }

    @Override
    public void giveBack(Object undelivered) {
        boolean isDenial = undelivered instanceof Decision decision && !decision.allowed();
        if (!isDenial) {
            giveBack.accept(requested, undelivered);
        }
    }
}

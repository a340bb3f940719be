package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.Reservation;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.web.reactive.function.client.ClientResponse;

/** Permits that were reserved by an estimate, until it is known what the call really cost. */
final class ReservedPermit implements CallPermit {

    /** What is beyond the estimate is charged when it is this part of it, as the operators do. */
    private static final int STEPS = 4;

    private final Reservation reserved;
    private final ActualCost actual;
    private final long step;

    /** Written by the reader of the body, one piece after the other; read where it ends, perhaps by who cancels. */
    private volatile long bytes;

    private long charged;

    ReservedPermit(Reservation reserved, ActualCost actual) {
        this.reserved = reserved;
        this.actual = actual;
        this.step = Math.max(1, reserved.estimate() / STEPS);
        this.charged = reserved.estimate();
    }

    @Override
    public void answered(ClientResponse answer) {
        if (actual instanceof ActualCost.OfAnswer said) {
            long permits;
            try {
                permits = said.permits().applyAsLong(answer);
                if (permits < 0) {
                    throw new IllegalArgumentException("the permits of an answer must not be negative, was " + permits);
                }
            } catch (RuntimeException refused) {
                settle(reserved.estimate());
                throw refused;
            }
            settle(permits);
        }
    }

    @Override
    public void read(DataBuffer piece) {
        if (actual instanceof ActualCost.Bytes) {
            long soFar = bytes + piece.readableByteCount();
            bytes = soFar;
            if (soFar - charged >= step) {
                charged = soFar;
                reserved.accrue(soFar).subscribe(done -> {}, lost -> {});
            }
        }
    }

    /** Of what was settled by the answer nothing changes: a reservation is settled once. */
    @Override
    public void end(Ending ending) {
        boolean unknown = actual instanceof ActualCost.OfAnswer && ending == Ending.GIVEN_UP;
        settle(unknown ? reserved.estimate() : bytes);
    }

    private void settle(long permits) {
        reserved.settle(permits).subscribe(done -> {}, lost -> {});
    }
}

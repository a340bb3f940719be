package io.github.reactorratelimit.testing.redis;

import io.netty.buffer.ByteBuf;
import java.time.Duration;

/** What a {@link FaultProxy} does with the bytes of one direction. Owns the chunk it is given. */
@FunctionalInterface
interface Treatment {

    /** Passed on at once. */
    Treatment PASS = delay(Duration.ZERO);

    /** Kept, and passed on when the treatment changes: a network that loses packets and sends them again. */
    Treatment HOLD = Flow::hold;

    /** Lost. The connection cannot go on after that, so it is reset when the treatment changes. */
    Treatment DROP = Flow::drop;

    void handle(Flow flow, ByteBuf chunk);

    /** Passed on, in order, that much later. */
    static Treatment delay(Duration delay) {
        return (flow, chunk) -> flow.forward(chunk, delay.toNanos());
    }

    /** The next {@code bytes} bytes at most are passed on, then the connection is closed. */
    static Treatment cutAfter(int bytes) {
        return (flow, chunk) -> flow.cut(chunk, bytes);
    }
}

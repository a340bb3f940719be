package io.github.reactorratelimit.webflux.client;

import java.time.Duration;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.web.reactive.function.BodyExtractors;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;

/**
 * The body of an answer that no caller gets. A short one is read to its end, so that the connection can be used again. If
 * it is longer or takes longer, its connection is closed: a server that refuses must not hold our resources.
 */
final class DiscardedBody {

    /** No more than this is read. */
    static final int MOST_BYTES = 64 * 1_024;

    /** No longer than this is waited for the end. */
    static final Duration LONGEST = Duration.ofSeconds(1);

    private DiscardedBody() {}

    /** Reads the body until it ends or this is disposed of. */
    static Disposable release(ClientResponse answer) {
        return answer.body(BodyExtractors.toDataBuffers())
                .map(DiscardedBody::release)
                .scan(0L, Long::sum)
                .takeUntil(read -> read >= MOST_BYTES)
                .take(LONGEST)
                // Also after a disposal, because a failure would be logged as dropped otherwise.
                .onErrorComplete()
                .subscribe();
    }

    private static long release(DataBuffer piece) {
        long bytes = piece.readableByteCount();
        DataBufferUtils.release(piece);
        return bytes;
    }
}

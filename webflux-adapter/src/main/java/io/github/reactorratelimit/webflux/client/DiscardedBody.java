package io.github.reactorratelimit.webflux.client;

import java.time.Duration;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.web.reactive.function.BodyExtractors;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;

/**
 * The body of an answer that nobody will see. A short one is read to its end, so that the connection can be used again; one that is longer, or takes
 * longer, is given up, and its connection closed: a server that refuses must not be able to keep anything of ours.
 */
final class DiscardedBody {

    /** No more than this is read. */
    static final int MOST_BYTES = 64 * 1_024;

    /** No longer than this is waited for the end. */
    static final Duration LONGEST = Duration.ofSeconds(1);

    private DiscardedBody() {}

    /** Reads what there is to read; who disposes of it gives the body up. */
    static Disposable release(ClientResponse answer) {
        return answer.body(BodyExtractors.toDataBuffers())
                .map(DiscardedBody::release)
                .scan(0L, Long::sum)
                .takeUntil(read -> read >= MOST_BYTES)
                .take(LONGEST)
                // Also of one that was disposed of, whose failure would be logged as dropped otherwise.
                .onErrorComplete()
                .subscribe();
    }

    private static long release(DataBuffer piece) {
        long bytes = piece.readableByteCount();
        DataBufferUtils.release(piece);
        return bytes;
    }
}

package io.github.reactorratelimit.examples.playground.replay;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The body of a request, as far as it may be. What is beyond that is read and thrown away, up to 64 MB: a client that is answered
 * while it still sends may never see the answer.
 */
final class UploadedLog {

    private static final int LARGEST_BYTES = 8_000_000;
    private static final long MOST_READ_BYTES = 64_000_000;

    private ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private long received;

    /** Reads a body to its end, or until it is so long that its sender shall not go on. */
    static Mono<UploadedLog> read(Flux<DataBuffer> body) {
        return Mono.defer(() -> {
            UploadedLog log = new UploadedLog();
            return body.map(log::plus).takeUntil(UploadedLog::isEndless).then(Mono.just(log));
        });
    }

    private boolean isEndless() {
        return received > MOST_READ_BYTES;
    }

    private UploadedLog plus(DataBuffer buffer) {
        try {
            received += buffer.readableByteCount();
            if (received <= LARGEST_BYTES) {
                byte[] part = new byte[buffer.readableByteCount()];
                buffer.read(part);
                bytes.writeBytes(part);
            } else {
                bytes = new ByteArrayOutputStream(0);
            }
        } finally {
            DataBufferUtils.release(buffer);
        }
        return this;
    }

    String text() {
        if (received > LARGEST_BYTES) {
            throw tooLarge();
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static ErrorResponseException tooLarge() {
        ProblemDetail problem = ProblemDetail.forStatusAndDetail(
                HttpStatus.valueOf(413),
                "log is larger than the 8 MB that a page may send; the replay command takes logs of any size");
        problem.setTitle("The log is too large");
        problem.setProperty("field", "log");
        return new ErrorResponseException(HttpStatus.valueOf(413), problem, null);
    }
}

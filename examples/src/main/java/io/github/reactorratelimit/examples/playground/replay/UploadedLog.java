package io.github.reactorratelimit.examples.playground.replay;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.ErrorResponseException;

/**
 * The body of a request, as far as it may be. What is beyond that is read and thrown away: a client that is answered while it
 * still sends may never see the answer.
 */
final class UploadedLog {

    private static final int LARGEST_BYTES = 8_000_000;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private long received;

    UploadedLog plus(DataBuffer buffer) {
        try {
            received += buffer.readableByteCount();
            if (received <= LARGEST_BYTES) {
                byte[] part = new byte[buffer.readableByteCount()];
                buffer.read(part);
                bytes.writeBytes(part);
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

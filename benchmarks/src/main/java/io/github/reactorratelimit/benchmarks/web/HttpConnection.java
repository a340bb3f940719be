package io.github.reactorratelimit.benchmarks.web;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** A connection with at most one request in flight. For one thread. */
final class HttpConnection implements AutoCloseable {

    private static final byte[] REQUEST = ("GET " + WebServer.PATH
                    + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);

    private final SocketChannel channel;
    private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST.length).put(REQUEST);
    private final ByteBuffer received = ByteBuffer.allocateDirect(8_192);
    private final Response response = new Response();

    HttpConnection(SocketChannel channel) {
        this.channel = channel;
    }

    void send() throws IOException {
        request.rewind();
        while (request.hasRemaining()) {
            channel.write(request);
        }
    }

    /** Reads what has arrived. True if the response is complete. */
    boolean read() throws IOException {
        if (channel.read(received) < 0) {
            throw new EOFException("the server closed the connection");
        }
        if (!response.isComplete(received)) {
            return false;
        }
        received.clear();
        return true;
    }

    /** The status of the last response. */
    int status() {
        return response.status();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    /** Finds the end of a response: by its length, or by its last chunk. */
    static final class Response {

        private static final byte[] LENGTH = "content-length:".getBytes(StandardCharsets.US_ASCII);
        private static final byte[] LAST_CHUNK = "0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        private static final int STATUS_AT = "HTTP/1.1 ".length();

        private int status;

        /** The status of the last complete response. */
        int status() {
            return status;
        }

        /** Whether the bytes before the position are a complete response. */
        boolean isComplete(ByteBuffer received) {
            int end = received.position();
            int line = lineAfter(received, 0, end);
            int length = -1;
            while (line > 0 && line + 1 < end && received.get(line) != '\r') {
                if (begins(received, line, end)) {
                    length = number(received, line + LENGTH.length);
                }
                line = lineAfter(received, line, end);
            }
            if (line < 0 || line + 1 >= end) {
                return false;
            }
            status = number(received, STATUS_AT);
            return length >= 0 ? end >= line + 2 + length : endsWithLastChunk(received, end);
        }

        private static int lineAfter(ByteBuffer bytes, int from, int end) {
            for (int i = from; i < end; i++) {
                if (bytes.get(i) == '\n') {
                    return i + 1;
                }
            }
            return -1;
        }

        private static boolean begins(ByteBuffer bytes, int at, int end) {
            if (at + LENGTH.length > end) {
                return false;
            }
            for (int i = 0; i < LENGTH.length; i++) {
                byte b = bytes.get(at + i);
                if ((b == '-' || b == ':' ? b : b | 0x20) != LENGTH[i]) {
                    return false;
                }
            }
            return true;
        }

        private static int number(ByteBuffer bytes, int from) {
            int at = from;
            while (bytes.get(at) == ' ') {
                at++;
            }
            int number = 0;
            for (byte digit = bytes.get(at); digit >= '0' && digit <= '9'; digit = bytes.get(++at)) {
                number = 10 * number + digit - '0';
            }
            return number;
        }

        private static boolean endsWithLastChunk(ByteBuffer bytes, int end) {
            for (int i = 0; i < LAST_CHUNK.length; i++) {
                if (bytes.get(end - LAST_CHUNK.length + i) != LAST_CHUNK[i]) {
                    return false;
                }
            }
            return true;
        }
    }
}

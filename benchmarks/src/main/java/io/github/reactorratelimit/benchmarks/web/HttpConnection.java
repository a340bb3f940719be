package io.github.reactorratelimit.benchmarks.web;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** One connection with at most one request under way. Used by one thread. */
final class HttpConnection implements AutoCloseable {

    private static final byte[] REQUEST = ("GET " + WebServer.PATH
                    + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII);

    private final SocketChannel channel;
    private final ByteBuffer request = ByteBuffer.allocateDirect(REQUEST.length).put(REQUEST);
    private final ByteBuffer received = ByteBuffer.allocateDirect(8_192);
    private final HttpAnswer answer = new HttpAnswer();

    private long answers;
    private int status;
    private boolean goesOn;
    private boolean waiting;

    HttpConnection(SocketChannel channel) {
        this.channel = channel;
    }

    /** Sends the first request; the next ones follow the answers. */
    void begin(int expectedStatus) throws IOException {
        status = expectedStatus;
        goesOn = true;
        ask();
    }

    /** The request that is under way is the last. */
    void end() {
        goesOn = false;
    }

    boolean isWaiting() {
        return waiting;
    }

    long answers() {
        return answers;
    }

    private void ask() throws IOException {
        request.rewind();
        waiting = true;
        while (request.hasRemaining()) {
            channel.write(request);
        }
    }

    /** Reads what is there, and asks again if that was an answer. */
    void read() throws IOException {
        if (channel.read(received) < 0) {
            throw new EOFException("the server closed the connection after " + answers + " answers");
        }
        if (!answer.isWhole(received)) {
            return;
        }
        if (status != 0 && answer.status() != status) {
            throw new IllegalStateException("answered " + answer.status() + " instead of " + status);
        }
        received.clear();
        answers++;
        waiting = false;
        if (goesOn) {
            ask();
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}

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
    private final HttpResponse response = new HttpResponse();

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
}

package io.github.reactorratelimit.benchmarks.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;

/**
 * Requests over persistent connections, one in flight on each, by one thread with a selector: a client
 * library would use more of the processors than the server does.
 */
final class HttpLoad implements AutoCloseable {

    private static final int FIRST_ADDRESS = 2;

    private final Selector selector;
    private final List<HttpConnection> connections = new ArrayList<>();
    private int left;
    private int inFlight;
    private int expectedStatus;

    private HttpLoad(Selector selector) {
        this.selector = selector;
    }

    static HttpLoad open(int port, int connections) throws IOException {
        HttpLoad load = new HttpLoad(Selector.open());
        for (int i = 0; i < connections; i++) {
            SocketChannel channel = connect(port, i);
            channel.configureBlocking(false);
            HttpConnection connection = new HttpConnection(channel);
            channel.register(load.selector, SelectionKey.OP_READ, connection);
            load.connections.add(connection);
        }
        return load;
    }

    /**
     * Each connection has its own address and counts alone; where only 127.0.0.1 exists, as on macOS, all
     * share it.
     */
    private static SocketChannel connect(int port, int number) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            InetAddress own = InetAddress.getByAddress(new byte[] {127, 0, 0, (byte) (FIRST_ADDRESS + number)});
            channel.bind(new InetSocketAddress(own, 0));
        } catch (IOException noSuchAddress) {
            channel.close();
            channel = SocketChannel.open();
        }
        channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        channel.socket().setTcpNoDelay(true);
        return channel;
    }

    /**
     * Sends requests and waits for all responses.
     *
     * @param requests at least one for each connection
     * @param status that every response must have; 0 for any
     */
    void run(int requests, int status) throws IOException {
        left = requests - connections.size();
        inFlight = connections.size();
        expectedStatus = status;
        for (HttpConnection connection : connections) {
            connection.send();
        }
        while (inFlight > 0) {
            selector.select(this::read);
        }
    }

    private void read(SelectionKey key) {
        HttpConnection connection = (HttpConnection) key.attachment();
        try {
            if (connection.read()) {
                received(connection);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void received(HttpConnection connection) throws IOException {
        if (expectedStatus != 0 && connection.status() != expectedStatus) {
            throw new IllegalStateException("status " + connection.status() + " instead of " + expectedStatus);
        }
        if (left > 0) {
            left--;
            connection.send();
        } else {
            inFlight--;
        }
    }

    @Override
    public void close() throws IOException {
        for (HttpConnection connection : connections) {
            connection.close();
        }
        selector.close();
    }
}

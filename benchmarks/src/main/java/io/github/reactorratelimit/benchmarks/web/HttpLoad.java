package io.github.reactorratelimit.benchmarks.web;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Connections that are kept alive, with one request under way on each all the time: the next is written when the last has been answered. One thread
 * with a selector and nothing of an HTTP client, so that it takes as little as possible of the processors it shares with the server. No
 * pipelining: hardly any client does it.
 */
final class HttpLoad implements AutoCloseable {

    /** Every connection comes from an address of its own, so that it counts for itself. */
    private static final int FIRST_ADDRESS = 2;

    private final Selector selector;
    private final List<HttpConnection> connections = new ArrayList<>();

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

    /** Where 127.0.0.2 and above cannot be used, as on macOS without further ado, all come from one address. */
    private static SocketChannel connect(int port, int number) throws IOException {
        InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        SocketChannel channel = SocketChannel.open();
        try {
            InetAddress own = InetAddress.getByAddress(new byte[] {127, 0, 0, (byte) (FIRST_ADDRESS + number)});
            channel.bind(new InetSocketAddress(own, 0));
        } catch (IOException noSuchAddress) {
            channel.close();
            channel = SocketChannel.open();
        }
        channel.connect(server);
        channel.socket().setTcpNoDelay(true);
        return channel;
    }

    /**
     * Asks for so long, and returns how many answers came per second.
     *
     * @param status that every answer has to have; 0 for any
     */
    Result run(Duration time, int status) throws IOException {
        long answersBefore = answers();
        long startNanos = System.nanoTime();
        long endNanos = startNanos + time.toNanos();
        for (HttpConnection connection : connections) {
            connection.begin(status);
        }
        while (System.nanoTime() < endNanos) {
            selector.select(HttpLoad::answer, 100);
        }
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        long answers = answers() - answersBefore;
        connections.forEach(HttpConnection::end);
        while (connections.stream().anyMatch(HttpConnection::isWaiting)) {
            selector.select(HttpLoad::answer, 100);
        }
        return new Result(answers, seconds);
    }

    /** As {@link #run}, counting also the last answers, which come after the time. */
    long answersOf(Duration time, int status) throws IOException {
        long before = answers();
        run(time, status);
        return answers() - before;
    }

    private long answers() {
        return connections.stream().mapToLong(HttpConnection::answers).sum();
    }

    private static void answer(SelectionKey key) {
        try {
            ((HttpConnection) key.attachment()).read();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        for (HttpConnection connection : connections) {
            connection.close();
        }
        selector.close();
    }

    /** What came back. */
    record Result(long answers, double seconds) {

        double perSecond() {
            return answers / seconds;
        }
    }
}

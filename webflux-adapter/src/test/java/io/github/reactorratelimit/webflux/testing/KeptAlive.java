package io.github.reactorratelimit.webflux.testing;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** One connection for many requests: the next is written as soon as the last has been answered. */
public final class KeptAlive implements AutoCloseable {

    /** A connection that is no longer read from looks like a server that is slow for ever. */
    private static final int PATIENCE_MILLIS = 120_000;

    private static final String LENGTH = "content-length:";

    private final Socket socket;
    private final InputStream in;

    private KeptAlive(Socket socket) throws IOException {
        this.socket = socket;
        this.in = new BufferedInputStream(socket.getInputStream());
    }

    public static KeptAlive to(int port) {
        try {
            Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(PATIENCE_MILLIS);
            return new KeptAlive(socket);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The status of a request, once its whole response is there. */
    public int get(String target, String... headers) {
        StringBuilder request = new StringBuilder("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n");
        for (String header : headers) {
            request.append(header).append("\r\n");
        }
        try {
            socket.getOutputStream().write(request.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
            return status();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int status() throws IOException {
        int status = Integer.parseInt(line().split(" ")[1]);
        int length = 0;
        for (String header = line(); !header.isEmpty(); header = line()) {
            if (header.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
                length = Integer.parseInt(header.substring(LENGTH.length()).strip());
            }
        }
        in.readNBytes(length);
        return status;
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException("closed after '" + line + "'");
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package io.github.reactorratelimit.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports no one listens on, below the range from which outgoing connections take theirs. A port belongs to one JVM of
 * this machine until that ends: a server that is down finds its port free when it comes back.
 */
public final class FreePorts {

    /** The bus of a cluster node listens this far above its port. */
    private static final int BUS_OFFSET = 10_000;

    private static final int LOWEST = 10_000;

    /** No port is the bus of another one. */
    private static final int HIGHEST = LOWEST + BUS_OFFSET;

    private static final Set<Integer> TAKEN = ConcurrentHashMap.newKeySet();

    /** One byte for each port, locked by the JVM that has the port. Never closed: that would free all locks. */
    private static final FileChannel OWNERS = openOwners();

    private FreePorts() {}

    /** A port that is free, as is its bus port; given out once in this JVM. */
    public static int next() {
        for (int attempt = 0; attempt < 1_000; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
            if (TAKEN.add(port)) {
                if (own(port)) {
                    return port;
                }
                TAKEN.remove(port);
            }
        }
        throw new IllegalStateException("no free port between " + LOWEST + " and " + HIGHEST);
    }

    /** Looks whether a port is free only if it has it: to look is to take it for a moment, perhaps that of a restart. */
    private static boolean own(int port) {
        try {
            FileLock lock = OWNERS.tryLock(port, 1, false);
            if (lock == null) {
                return false;
            }
            boolean free = isFree(port) && isFree(port + BUS_OFFSET);
            if (!free) {
                lock.release();
            }
            return free;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static FileChannel openOwners() {
        Path file = Path.of(
                System.getProperty("java.io.tmpdir"), "reactor-ratelimit-ports-" + System.getProperty("user.name"));
        try {
            return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether no process listens on the port of the loopback address. */
    public static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}

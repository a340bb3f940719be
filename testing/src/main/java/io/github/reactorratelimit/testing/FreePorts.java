package io.github.reactorratelimit.testing;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports no one listens on, below the range from which outgoing connections take theirs. */
public final class FreePorts {

    /** The bus of a cluster node listens this far above its port. */
    private static final int BUS_OFFSET = 10_000;

    private static final int LOWEST = 10_000;
    private static final int HIGHEST = 22_000;
    private static final Set<Integer> TAKEN = ConcurrentHashMap.newKeySet();

    private FreePorts() {}

    /** A port that is free, as is its bus port; given out once in this JVM. */
    public static int next() {
        for (int attempt = 0; attempt < 1_000; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
            if (isFree(port) && isFree(port + BUS_OFFSET) && TAKEN.add(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no free port between " + LOWEST + " and " + HIGHEST);
    }

    /** Whether nobody listens on the port of the loopback address. */
    public static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}

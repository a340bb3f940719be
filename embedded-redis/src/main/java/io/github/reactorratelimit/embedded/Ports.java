package io.github.reactorratelimit.embedded;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Ports that nobody listens on, below the range from which outgoing connections take theirs. */
final class Ports {

    /** The bus of a cluster node listens this far above its port. */
    static final int BUS_OFFSET = 10_000;

    private static final int LOWEST = 10_000;
    private static final int HIGHEST = 22_000;
    private static final int ATTEMPTS = 1_000;
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private Ports() {}

    /** Free, as is its bus port; given out once in this JVM. */
    static int free() {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
            if (isFree(port) && isFree(port + BUS_OFFSET) && GIVEN.add(port)) {
                return port;
            }
        }
        throw new NoRedisException("no port between " + LOWEST + " and " + HIGHEST + " is free");
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}

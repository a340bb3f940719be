package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.resource.EpollProvider;
import io.lettuce.core.resource.IOUringProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.ExtendWith;

/** The kernel probes idle connections that the store makes, so that it notices when the other end is gone. */
@ExtendWith(RedisExtension.class)
@EnabledOnOs(OS.LINUX) // whose kernel tells its timers
class KeepAliveTest {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final String ESTABLISHED = "01";
    private static final String KEEP_ALIVE_TIMER = "02";

    /** The first probe comes after 5 s; the kernel counts in hundredths. */
    private static final long AT_MOST = 500;

    /** The timers of the connections to a port, each as {@code kind:time left}, both hexadecimal. */
    private static List<String> timersOfConnectionsTo(int port) throws IOException {
        String remote = ":%04X".formatted(port);
        List<String> timers = new ArrayList<>();
        for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] words = line.strip().split(" +");
                if (words[2].endsWith(remote) && words[3].equals(ESTABLISHED)) {
                    timers.add(words[5]);
                }
            }
        }
        return timers;
    }

    private static boolean isProbedSoon(String timer) {
        String[] words = timer.split(":");
        return words[0].equals(KEEP_ALIVE_TIMER) && Long.parseLong(words[1], 16) <= AT_MOST;
    }

    @Test
    void idleConnectionsOfTheStoreAreProbed() {
        try (Standalone redis = Standalone.start()) {
            int port = redis.uri().getPort();
            RedisStore store = RedisStore.connect("redis://127.0.0.1:" + port).block(PATIENCE);
            try {
                Await.until("all are probed", PATIENCE, () -> {
                    List<String> timers = timersOfConnectionsTo(port);
                    return !timers.isEmpty() && timers.stream().allMatch(KeepAliveTest::isProbedSoon);
                });
            } finally {
                store.close().block(PATIENCE);
            }
        }
    }

    /** What the kernel does then is told nowhere, so only the option is looked at. */
    @Test
    void connectionOfTheStoreEndsIfWhatItSentIsNotAcknowledged(Standalone redis) {
        RedisConnector.Opened opened = RedisConnector.connect(redis.uri()).block(PATIENCE);
        try {
            SocketOptions.TcpUserTimeoutOptions timeout =
                    opened.connection().getOptions().getSocketOptions().getTcpUserTimeout();
            boolean isSupported = EpollProvider.isAvailable() || IOUringProvider.isAvailable();
            assertThat(timeout.isEnabled()).isEqualTo(isSupported);
            assertThat(timeout.getTcpUserTimeout()).isEqualTo(Duration.ofSeconds(10));
        } finally {
            opened.closing().block(PATIENCE);
        }
    }
}

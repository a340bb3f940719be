package io.github.reactorratelimit.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class RedisServerTest {

    private static final long PATIENCE_SECONDS = 60;

    private static void awaitEnd(long pid) throws Exception {
        ProcessHandle handle = ProcessHandle.of(pid).orElse(null);
        if (handle != null) {
            handle.onExit().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        }
    }

    private static Path directoryOf(RedisServer server) {
        String answer = Telnet.ask(server.uri(), "CONFIG GET dir", 5);
        return Path.of(answer);
    }

    @Test
    void aStartedServerAnswersAtOnce() {
        try (RedisServer server = RedisServer.start()) {
            assertThat(Telnet.ask(server.uri(), "PING", 1)).isEqualTo("+PONG");
            assertThat(server.uri()).isEqualTo("redis://127.0.0.1:" + server.port());
            assertThat(server.isOurs()).isTrue();
        }
    }

    @Test
    void twoServersHaveNothingInCommon() {
        try (RedisServer one = RedisServer.start();
                RedisServer other = RedisServer.start()) {
            Telnet.ask(one.uri(), "SET key value", 1);

            assertThat(Telnet.ask(other.uri(), "EXISTS key", 1)).isEqualTo(":0");
            assertThat(Telnet.ask(one.uri(), "EXISTS key", 1)).isEqualTo(":1");
        }
    }

    @Test
    void aKilledServerIsGoneAndStartsAgainEmptyOnItsPort() {
        try (RedisServer server = RedisServer.start()) {
            long pid = server.pid();
            Telnet.ask(server.uri(), "SET key value", 1);

            server.kill();

            assertThat(server.isAlive()).isFalse();
            assertThatThrownBy(() -> Telnet.ask(server.uri(), "PING", 1)).isInstanceOf(UncheckedIOException.class);

            server.restart();

            assertThat(server.pid()).isNotEqualTo(pid);
            assertThat(Telnet.ask(server.uri(), "EXISTS key", 1)).isEqualTo(":0");
        }
    }

    @Test
    void restartLeavesAServerThatRunsAlone() {
        try (RedisServer server = RedisServer.start()) {
            long pid = server.pid();

            server.restart();

            assertThat(server.pid()).isEqualTo(pid);
        }
    }

    @Test
    void aClosedServerLeavesNeitherProcessNorFile() throws Exception {
        RedisServer server = RedisServer.start();
        Path directory = directoryOf(server);
        assertThat(directory).isDirectory();

        server.close();

        awaitEnd(server.pid());
        assertThat(directory).doesNotExist();
    }

    @Test
    void aServerThatWasRestartedIsClosedToo() throws Exception {
        RedisServer server = RedisServer.start();
        server.kill();
        server.restart();
        long pid = server.pid();

        server.close();

        awaitEnd(pid);
    }

    @Test
    void endsWithAJvmThatIsKilled() throws Exception {
        Process jvm = new ProcessBuilder(
                        ProcessHandle.current().info().command().orElseThrow(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Child.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader says = jvm.inputReader();
        long pid = Long.parseLong(says.readLine());
        Path directory = Path.of(says.readLine());
        assertThat(ProcessHandle.of(pid)).isPresent();

        jvm.destroyForcibly().waitFor();

        awaitEnd(pid);
        long begun = System.nanoTime();
        while (Files.exists(directory) && System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS)) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
        assertThat(directory).doesNotExist();
    }

    /** A process that holds a server and waits to be killed. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) throws IOException {
            RedisServer server = RedisServer.start();
            System.out.println(server.pid());
            System.out.println(directoryOf(server));
            int ignored = System.in.read();
        }
    }
}

package io.github.reactorratelimit.embedded;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Ends a server with this JVM: a shell that is told the server's process id through a pipe and, when the pipe closes, kills what it was told
 * last and deletes the server's directory. Works for {@code kill -9} of the JVM too, which no shutdown hook does.
 */
final class Guard implements AutoCloseable {

    private static final long NOBODY = 0;

    /** Signals to the whole process group must not take the shell before the JVM. */
    private static final String SCRIPT = """
            trap '' HUP INT QUIT TERM
            server=0
            while read -r line; do server=$line; done
            [ "$server" -gt 0 ] && kill -9 "$server"
            rm -rf "$1"
            """;

    private final Process shell;
    private final Writer pipe;
    private long watched = NOBODY;

    private Guard(Process shell) {
        this.shell = shell;
        this.pipe = shell.outputWriter(StandardCharsets.US_ASCII);
    }

    static Guard of(Path directory) throws IOException {
        return new Guard(new ProcessBuilder("sh", "-c", SCRIPT, "sh", directory.toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
    }

    /** Has the process die with this JVM; its id is forgotten when it ends, before anyone else can have it. */
    synchronized void watch(Process server) throws IOException {
        tell(server.pid());
        var unused = server.onExit().thenRun(() -> forget(server.pid()));
    }

    private synchronized void forget(long pid) {
        if (watched == pid) {
            try {
                tell(NOBODY);
            } catch (IOException gone) {
                // The shell has ended: there is nobody left to tell.
            }
        }
    }

    private void tell(long pid) throws IOException {
        watched = pid;
        pipe.write(pid + "\n");
        pipe.flush();
    }

    /** Deletes the directory; returns when that is done. */
    @Override
    public void close() {
        try {
            pipe.close();
        } catch (IOException gone) {
            // The pipe is closed, which is all that matters.
        }
        shell.onExit().join();
    }
}

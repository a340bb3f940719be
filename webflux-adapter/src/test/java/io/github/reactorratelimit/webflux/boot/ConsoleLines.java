package io.github.reactorratelimit.webflux.boot;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** What is logged meanwhile: Boot sets up the log anew at each start, so that only the console stays the same. */
final class ConsoleLines implements AutoCloseable {

    private final PrintStream console = System.out;
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    private ConsoleLines() {
        OutputStream both = new OutputStream() {
            @Override
            public void write(int b) {
                written.write(b);
                console.write(b);
            }

            @Override
            public void write(byte[] bytes, int start, int length) {
                written.write(bytes, start, length);
                console.write(bytes, start, length);
            }
        };
        System.setOut(new PrintStream(both, true, StandardCharsets.UTF_8));
    }

    static ConsoleLines read() {
        return new ConsoleLines();
    }

    String text() {
        return written.toString(StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        System.setOut(console);
    }
}

package io.github.reactorratelimit.embedded;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** Asks a server without a client: one line there, one line back. */
final class Telnet {

    private Telnet() {}

    /** The last of so many lines of the answer. */
    static String ask(String uri, String command, int lines) {
        try (Socket socket = new Socket("127.0.0.1", URI.create(uri).getPort());
                BufferedReader answer =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
            socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.UTF_8));
            String line = "";
            for (int i = 0; i < lines; i++) {
                line = answer.readLine();
            }
            return line;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}

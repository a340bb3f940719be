package io.github.reactorratelimit.webflux.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A response as it came over the wire to a client that sends exactly what it is told: no path is tidied up. */
public record RawResponse(int status, Map<String, List<String>> headers, String body, String raw) {

    /** The status if the server closed the connection without an answer. */
    public static final int NONE = 0;

    public static RawResponse to(int port, String requestLine, String body, String... headers) {
        StringBuilder request = new StringBuilder(requestLine).append("\r\nHost: localhost\r\nConnection: close\r\n");
        for (String header : headers) {
            request.append(header).append("\r\n");
        }
        byte[] content = body.getBytes(StandardCharsets.UTF_8);
        if (content.length > 0) {
            request.append("Content-Length: ").append(content.length).append("\r\n");
        }
        request.append("\r\n").append(body);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
            socket.getOutputStream().flush();
            return parse(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static RawResponse parse(String raw) {
        int end = raw.indexOf("\r\n\r\n");
        if (end < 0) {
            return new RawResponse(NONE, Map.of(), "", raw);
        }
        String[] head = raw.substring(0, end).split("\r\n");
        Map<String, List<String>> headers = new TreeMap<>();
        for (int i = 1; i < head.length; i++) {
            int colon = head[i].indexOf(':');
            headers.computeIfAbsent(head[i].substring(0, colon).toLowerCase(Locale.ROOT), name -> new ArrayList<>())
                    .add(head[i].substring(colon + 1).strip());
        }
        return new RawResponse(Integer.parseInt(head[0].split(" ")[1]), headers, raw.substring(end + 4), raw);
    }

    /** All values of a header, joined as HTTP allows; null if there is none. */
    public String header(String name) {
        List<String> values = headers.get(name.toLowerCase(Locale.ROOT));
        return values == null ? null : String.join(", ", values);
    }
}

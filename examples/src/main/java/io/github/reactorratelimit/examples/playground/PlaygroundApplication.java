package io.github.reactorratelimit.examples.playground;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/** Starts the playground. Limits itself as {@code application.yml} says. */
@SpringBootApplication
public class PlaygroundApplication {

    private static final int FIRST_PORT = 8080;
    private static final int LAST_PORT = 8099;

    /**
     * Serves the playground until the process ends, on port 8080 or the next one that is free.
     *
     * @param args properties, such as {@code --server.port=9000}
     */
    public static void main(String[] args) {
        SpringApplication application = new SpringApplication(PlaygroundApplication.class);
        application.setDefaultProperties(Map.of("server.port", freePort()));
        ConfigurableApplicationContext context = application.run(args);
        System.out.println(greeting(context));
    }

    /** Another process may take it before the server does; then Boot says which port was taken, and how to choose one. */
    static int freePort() {
        for (int port = FIRST_PORT; port < LAST_PORT; port++) {
            try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return probe.getLocalPort();
            } catch (IOException taken) {
                // The next one, then.
            }
        }
        return LAST_PORT;
    }

    private static String greeting(ConfigurableApplicationContext context) {
        int port = context instanceof WebServerApplicationContext web && web.getWebServer() != null
                ? web.getWebServer().getPort()
                : FIRST_PORT;
        String note = port == FIRST_PORT
                ? ""
                : System.lineSeparator() + "  (another port: -Dspring-boot.run.arguments=--server.port=9000)";
        return """

                  The playground is at  http://localhost:%d
                  Ctrl+C ends it.%s
                """.formatted(port, note);
    }
}

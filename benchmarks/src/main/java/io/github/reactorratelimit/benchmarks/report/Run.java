package io.github.reactorratelimit.benchmarks.report;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * When and how a group was run.
 *
 * @param date when the run started, UTC
 * @param command the command line that runs it again
 * @param jdk the JVM
 * @param cores processors that the JVM saw
 * @param system operating system and architecture
 */
public record Run(String date, String command, String jdk, int cores, String system) {

    /** A run that starts now, in this JVM. */
    public static Run now(String command) {
        return new Run(
                Instant.now().truncatedTo(ChronoUnit.MINUTES).toString(),
                command,
                System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"),
                Runtime.getRuntime().availableProcessors(),
                System.getProperty("os.name") + " " + System.getProperty("os.arch"));
    }

    String text() {
        return date + ", `" + command + "`, " + jdk + ", " + cores + " cores, " + system;
    }
}

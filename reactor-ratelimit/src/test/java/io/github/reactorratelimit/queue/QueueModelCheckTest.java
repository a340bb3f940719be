package io.github.reactorratelimit.queue;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Lincheck finds no interleaving of {@link QueueModel} that loses a permit or forgets a waiter, and finds one for each planted fault. Each
 * run has its own process, because Lincheck changes the classes that it loads.
 */
@Tag("lincheck")
class QueueModelCheckTest {

    private static final boolean FULL = Boolean.getBoolean("ratelimit.tests.full");
    private static final String SCENARIOS = FULL ? "100" : "6";
    private static final String INTERLEAVINGS = FULL ? "2000" : "30";
    private static final Path SOURCES = Path.of("src/main/java");
    private static final String CLASS_PATH =
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));

    /** A change of one line that makes the queue wrong. */
    enum Mutant {
        SIGNAL_DURING_THE_DRAIN_IS_LOST("DrainLoop", "seen = missed.addAndGet(-seen);", "missed.set(0); seen = 0;"),
        RETIRED_QUEUE_KEEPS_A_WAITER(
                "KeyQueue", "return signal() || !mailbox.remove(waiter);", "signal(); return true;");

        private final String type;
        private final String right;
        private final String wrong;

        Mutant(String type, String right, String wrong) {
            this.type = type;
            this.right = right;
            this.wrong = wrong;
        }

        /** Compiles the class with the fault into {@code directory}. */
        private void plant(Path directory) throws IOException {
            String name = QueueModel.class.getPackageName().replace('.', '/') + "/" + type + ".java";
            String source = Files.readString(SOURCES.resolve(name));
            assertThat(source).as("the line to change").containsOnlyOnce(right);
            Path changed = directory.resolve(type + ".java");
            Files.writeString(changed, source.replace(right, wrong));
            int failed = ToolProvider.getSystemJavaCompiler()
                    .run(
                            null,
                            null,
                            null,
                            "-nowarn",
                            "-proc:none",
                            "-cp",
                            CLASS_PATH,
                            "-d",
                            directory.toString(),
                            changed.toString());
            assertThat(failed).as("the changed class compiles").isZero();
        }
    }

    @Test
    void noInterleavingLosesAPermitOrForgetsAWaiter() throws Exception {
        assertThat(check(CLASS_PATH)).doesNotContain("Exception").endsWith("exit 0");
    }

    @ParameterizedTest
    @EnumSource
    void plantedFaultIsFound(Mutant mutant, @TempDir Path directory) throws Exception {
        mutant.plant(directory);
        assertThat(check(directory + File.pathSeparator + CLASS_PATH))
                .containsAnyOf("is forgotten", "signalled", "left of")
                .endsWith("exit 1");
    }

    private static String check(String classPath) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        // A short run: most of it is loading and changing classes.
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-XX:+EnableDynamicAgentLoading",
                        "-cp",
                        classPath,
                        QueueModel.class.getName(),
                        SCENARIOS,
                        INTERLEAVINGS)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return output + "exit " + process.waitFor();
    }
}

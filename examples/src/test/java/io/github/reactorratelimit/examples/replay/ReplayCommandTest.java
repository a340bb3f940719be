package io.github.reactorratelimit.examples.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;

class ReplayCommandTest {

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeAll
    static void withoutAScreen() {
        System.setProperty("java.awt.headless", "true");
    }

    private int run(String... args) {
        return run(ReplayCommand.commandLine(), args);
    }

    private int run(CommandLine command, String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.add("--no-progress");
        return command.setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(all.toArray(String[]::new));
    }

    private static String log(int seconds) {
        StringBuilder log = new StringBuilder();
        for (int i = 0; i < seconds; i++) {
            String time = String.format("[10/Oct/2026:13:%02d:%02d +0000]", i / 60, i % 60);
            for (int n = 0; n < 10; n++) {
                log.append("192.0.2.66 - - ").append(time).append(" \"GET / HTTP/1.1\" 200 1\n");
            }
            log.append("192.0.2.1 - - ").append(time).append(" \"GET / HTTP/1.1\" 200 1\n");
        }
        return log.toString();
    }

    private Path written(String name, String content) throws IOException {
        return Files.writeString(directory.resolve(name), content);
    }

    @Test
    void aLogIsSummedUpAndDrawn() throws IOException {
        Path svg = directory.resolve("plot.svg");
        Path png = directory.resolve("plot.png");
        String log = written("access.log", log(60)).toString();

        int status = run(
                log,
                "-p",
                "token-bucket:5/s:burst=5",
                "-p",
                "fixed-window:300/m",
                "--plot",
                svg.toString(),
                "--plot",
                png.toString());

        assertThat(out.toString())
                .contains("660 requests from 2026-10-10T13:00:00Z to 2026-10-10T13:00:59Z")
                .containsPattern("token-bucket:5/s:burst=5 +360 +300 +45.45 %")
                .containsPattern("fixed-window:300/m +360 +300 +45.45 %")
                .containsPattern("192.0.2.66 +300 denied of +600");
        if (hasFonts()) {
            assertThat(err.toString()).isEmpty();
            assertThat(status).isEqualTo(CommandLine.ExitCode.OK);
            assertThat(svg)
                    .content()
                    .contains("<svg")
                    .contains("rgb(15,118,110)")
                    .contains("rgb(180,83,9)");
            assertThat(Files.readAllBytes(png)).startsWith((byte) 0x89, 'P', 'N', 'G');
        } else {
            assertThat(err.toString()).contains("plots need fonts");
            assertThat(status).isEqualTo(CommandLine.ExitCode.SOFTWARE);
        }
    }

    /** A JDK on a bare machine has none, and says so in an error. */
    private static boolean hasFonts() {
        try {
            BufferedImage image = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB);
            return image.createGraphics().getFontMetrics().stringWidth("probe") > 0;
        } catch (InternalError | LinkageError | RuntimeException none) {
            return false;
        }
    }

    static List<Throwable> withoutFonts() {
        return List.of(
                new InternalError("Fontconfig head is null, check your fonts or fonts configuration"),
                new NoClassDefFoundError("Could not initialize class sun.awt.X11FontManager"),
                new UnsatisfiedLinkError("libfreetype.so.6"),
                new NullPointerException("head"));
    }

    @ParameterizedTest
    @MethodSource("withoutFonts")
    void withoutFontsTheTableIsPrintedAllTheSame(Throwable failure) throws IOException {
        CommandLine command = ReplayCommand.commandLine((report, file) -> {
            if (failure instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) failure;
        });

        int status = run(command, written("access.log", log(1)).toString(), "--plot", "plot.svg");

        assertThat(status).isEqualTo(CommandLine.ExitCode.SOFTWARE);
        assertThat(out.toString()).contains("11 requests").doesNotContain("drawn");
        assertThat(err.toString())
                .contains("plot.svg could not be drawn: plots need fonts, install fontconfig")
                .doesNotContain("Usage");
    }

    @Test
    void aCompressedLogIsReadAsItIs() throws IOException {
        Path packed = directory.resolve("access.log.gz");
        try (OutputStream gzip = new GZIPOutputStream(Files.newOutputStream(packed))) {
            gzip.write(log(10).getBytes(StandardCharsets.UTF_8));
        }

        assertThat(run(packed.toString(), "-w", "60000")).isZero();
        assertThat(out.toString()).contains("110 requests").contains("leaky-bucket:10/s:queue=50");
    }

    @ParameterizedTest
    @CsvSource({
        "-p, magic:1/s, is no kind of policy",
        "-w, -1, must not be negative",
        "-w, NaN, Invalid value",
        "-k, colour, Invalid value",
        "--plot, picture.gif, must end in .svg or .png",
        "--top, -1, must not be negative",
        "--max-keys, 0, must be positive",
        "--max-keys, 1, has more than 1 different keys; --max-keys allows more"
    })
    void aBadOptionIsRefusedWithAReason(String option, String value, String reason) throws IOException {
        assertThat(run(written("access.log", log(1)).toString(), option, value)).isEqualTo(CommandLine.ExitCode.USAGE);
        assertThat(err.toString()).contains(reason);
    }

    @Test
    void aLogThatIsNotThereOrIsNoneIsRefusedWithAReason() throws IOException {
        assertThat(run(directory.resolve("none.log").toString())).isEqualTo(CommandLine.ExitCode.USAGE);
        assertThat(run(written("empty.log", "").toString())).isEqualTo(CommandLine.ExitCode.USAGE);
        assertThat(run(written("letter.txt", "Dear all,\nhello").toString())).isEqualTo(CommandLine.ExitCode.USAGE);

        assertThat(err.toString())
                .contains("there is no log")
                .contains("it is empty")
                .contains("no line could be read");
    }

    @Test
    void timesTooFarApartAreLeftOut() throws IOException {
        String log = "-9000000000,a\n1760000000,a\n9000000000,b\n";

        assertThat(run(written("log.csv", log).toString())).isZero();
        assertThat(out.toString()).contains("1 requests").contains("2 lines could not be read");
    }

    /** Some burst, some idle time: what a limit is for. */
    private static String bursts() {
        StringBuilder log = new StringBuilder();
        for (int second = 0; second < 60; second += 4) {
            String line = "192.0.2.66 - - [10/Oct/2026:13:00:%02d +0000] \"GET / HTTP/1.1\" 200 1%n";
            log.append(line.formatted(second).repeat(20));
        }
        return log.toString();
    }

    @Test
    void aLeakyBucketQueuesByDefaultInsteadOfDenyingWhatTheOthersAllow() throws IOException {
        String log = written("access.log", bursts()).toString();

        assertThat(run(log)).isZero();
        assertThat(out.toString())
                .containsPattern("token-bucket:10/s:burst=20 +300 +0 +0.00 %")
                .containsPattern("leaky-bucket:10/s:queue=50 +300 +0 +0.00 % +285 +1900 ms +1900 ms");
    }

    @Test
    void aLeakyBucketThatMayNotQueueDeniesAndTheCommandSaysWhy() throws IOException {
        String log = written("access.log", bursts()).toString();

        assertThat(run(log, "-w", "0")).isZero();
        assertThat(out.toString()).containsPattern("leaky-bucket:10/s:queue=50 +15 +285 +95.00 %");
        assertThat(err.toString()).contains("a leaky bucket without waiting").contains("leaky-bucket:10/s:queue=50");
    }

    @Test
    void usersThatALogDoesNotNameAreWarnedOf() throws IOException {
        String log = written("access.log", log(1)).toString();

        assertThat(run(log, "-k", "user")).isZero();
        assertThat(err.toString()).contains("11 of 11 requests name no user: they all count as one key, -");
    }

    @Test
    void noWarningWhereEveryRequestHasAKey() throws IOException {
        assertThat(run(written("access.log", log(1)).toString())).isZero();
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aUserWithoutANameIsShownAsInALog() throws IOException {
        String log = "192.0.2.1 -  [10/Oct/2026:13:00:00 +0000] \"GET / HTTP/1.1\" 200 1\n".repeat(3);

        assertThat(run(written("access.log", log).toString(), "-k", "user", "-p", "gcra:1/h"))
                .isZero();
        assertThat(out.toString()).containsPattern("(?m)^  - +2 denied of +3");
    }

    @Test
    void aKeyCannotWriteToTheTerminal() throws IOException {
        String log = "1760000000,\u001b[31mred\u009b1m\u202e\n".repeat(3);

        assertThat(run(written("log.csv", log).toString(), "-p", "gcra:1/h")).isZero();
        assertThat(out.toString()).contains("?[31mred?1m? ").doesNotContain("\u001b");
    }

    @Test
    void aLineThatCannotBeReadCannotWriteToTheTerminalEither() throws IOException {
        run(written("letter.txt", "\u001b]0;title\u0007\u009b2J\u202eDear all").toString());

        assertThat(err.toString()).contains("the first line is: ?]0;title??2J?Dear all");
    }
}

package io.github.reactorratelimit.examples.replay;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Replays a log through policies and says what they would have done. */
@Command(
        name = "replay",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "What rate limits would have done to the requests of an access log (common or combined format, or"
                + " a CSV of times and keys; plain or .gz).")
public final class ReplayCommand implements Callable<Integer> {

    private static final long BYTES_PER_STEP = 1 << 20;
    private static final int MOST_POLICIES = 12;

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli, before call()
    private CommandSpec spec;

    @Parameters(paramLabel = "LOG", description = "The log.")
    @SuppressWarnings("NullAway.Init")
    private Path log;

    @Option(
            names = {"-p", "--policy"},
            paramLabel = "POLICY",
            description = {
                "A policy for each key, such as token-bucket:10/s:burst=20, gcra:100/m, leaky-bucket:5/s:queue=50,"
                        + " warm-up:100/s:over=30s, fixed-window:1000/h, sliding-log:100/m, sliding-counter:1000/15m. Several to compare.",
                "Unless given: ${DEFAULT-VALUE}"
            },
            defaultValue =
                    "token-bucket:10/s:burst=20,leaky-bucket:10/s:queue=50,fixed-window:600/m,sliding-counter:600/m",
            split = ",")
    private List<String> policies = List.of();

    @Option(
            names = {"-k", "--key"},
            defaultValue = "host",
            description =
                    "Whom a request counts for: ${COMPLETION-CANDIDATES}; a CSV names its keys. Unless given: host")
    private LogKey key = LogKey.HOST;

    @Option(
            names = {"-w", "--max-wait"},
            paramLabel = "MILLIS",
            description = "How long a request may wait, in milliseconds. Default: requests wait only in the queue of a"
                    + " leaky bucket, at most a day.")
    private @Nullable Long maxWaitMillis;

    @Option(
            names = "--plot",
            paramLabel = "FILE",
            description = "Draw it, as .svg or .png; needs fonts. May be given twice.")
    private List<Path> plots = List.of();

    @Option(
            names = "--top",
            paramLabel = "N",
            defaultValue = "5",
            description = "How many of the keys that were limited most are shown. Unless given: ${DEFAULT-VALUE}")
    private int top;

    @Option(
            names = "--max-keys",
            paramLabel = "N",
            defaultValue = "1000000",
            description = "How many different keys there may be; each takes some hundred bytes for each policy. Unless"
                    + " given: ${DEFAULT-VALUE}")
    private int maxKeys;

    @Option(names = "--no-progress", description = "No progress bar.")
    private boolean silent;

    private final Drawing drawing;

    private ReplayCommand(Drawing drawing) {
        this.drawing = drawing;
    }

    /** Writes a report as a picture. */
    @FunctionalInterface
    interface Drawing {
        void write(ReplayReport report, Path file) throws IOException;
    }

    /**
     * Runs the command and ends the process with its status.
     *
     * @param args the log, and options
     */
    public static void main(String[] args) {
        System.setProperty("java.awt.headless", "true");
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return commandLine(Plot::write);
    }

    static CommandLine commandLine(Drawing drawing) {
        return new CommandLine(new ReplayCommand(drawing)).setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Override
    public Integer call() throws IOException {
        check();
        PrintWriter out = spec.commandLine().getOut();
        Comparison comparison = comparison();
        LogParser parser = new LogParser(key);
        long lines = read(parser, comparison);
        if (lines == 0) {
            throw bad(log + ": " + parser.complaint());
        }
        ReplayReport report = comparison.report(parser.unreadable(), top);
        out.print(SummaryTable.of(report));
        warn(report);
        boolean allDrawn = true;
        for (Path plot : plots) {
            allDrawn &= draw(report, plot, out);
        }
        out.flush();
        return allDrawn ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private void warn(ReplayReport report) {
        if (report.withoutKey() > 0) {
            complain(String.format(
                    Locale.ROOT,
                    "warning: %,d of %,d requests name no %s: they all count as one key, -%s",
                    report.withoutKey(),
                    report.requests(),
                    key.name().toLowerCase(Locale.ROOT),
                    key == LogKey.USER ? "; -k host counts by address" : ""));
        }
        if (maxWaitMillis != null && maxWaitMillis == 0) {
            policies.stream()
                    .filter(policy -> PolicyText.parse(policy).queueCapacity() < Long.MAX_VALUE)
                    .forEach(
                            policy -> complain("warning: " + policy + " is a leaky bucket without waiting, which allows"
                                    + " one request per interval; leave -w out to use its queue"));
        }
    }

    private void check() {
        if (!Files.isReadable(log) || Files.isDirectory(log)) {
            throw bad("there is no log " + log.toAbsolutePath());
        }
        if (maxWaitMillis != null && maxWaitMillis < 0) {
            throw bad("--max-wait must not be negative, was " + maxWaitMillis);
        }
        if (top < 0) {
            throw bad("--top must not be negative, was " + top);
        }
        if (maxKeys < 1) {
            throw bad("--max-keys must be positive, was " + maxKeys);
        }
        if (policies.size() > MOST_POLICIES) {
            throw bad("at most " + MOST_POLICIES + " policies at a time, were " + policies.size());
        }
        for (Path plot : plots) {
            if (!Plot.canWrite(plot)) {
                throw bad("--plot must end in .svg or .png, was " + plot);
            }
        }
    }

    private Comparison comparison() {
        try {
            return Comparison.of(policies, maxWaitMillis == null ? null : Duration.ofMillis(maxWaitMillis), maxKeys);
        } catch (IllegalArgumentException | ArithmeticException refused) {
            throw bad(String.valueOf(refused.getMessage()));
        }
    }

    private long read(LogParser parser, Comparison comparison) throws IOException {
        try (ProgressBar progress = progress();
                Reader reader = LogFile.open(log, bytes -> progress.stepTo(bytes))) {
            LogLines lines = new LogLines(reader);
            long requests = 0;
            for (String line = lines.next(); line != null; line = lines.next()) {
                LogRecord request = parser.parse(line).orElse(null);
                if (request != null) {
                    comparison.add(request);
                    requests++;
                }
            }
            return requests;
        } catch (TooManyKeysException tooMany) {
            throw bad(log + " has " + tooMany.getMessage() + "; --max-keys allows more, -Xmx gives them memory");
        }
    }

    private ProgressBar progress() throws IOException {
        ProgressBarBuilder builder = ProgressBar.builder()
                .setTaskName("replay")
                .setInitialMax(Files.size(log))
                .setUnit(" MB", BYTES_PER_STEP)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(250);
        if (silent) {
            builder.setConsumer(new Silence());
        }
        return builder.build();
    }

    /** What was counted is printed whether or not it can be drawn. */
    private boolean draw(ReplayReport report, Path plot, PrintWriter out) {
        try {
            drawing.write(report, plot);
            out.println();
            out.println("drawn: " + plot);
            return true;
        } catch (IOException notWritten) {
            complain(plot + " could not be written: " + notWritten);
        } catch (InternalError | LinkageError | RuntimeException failed) {
            // A JDK without fonts fails in many ways, and in another one the second time.
            complain(plot + " could not be drawn: plots need fonts, install fontconfig and a font package such as"
                    + " fonts-dejavu-core (" + failed + ")");
        }
        return false;
    }

    private void complain(String reason) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(reason);
        err.flush();
    }

    private ParameterException bad(String reason) {
        return new ParameterException(spec.commandLine(), reason);
    }
}

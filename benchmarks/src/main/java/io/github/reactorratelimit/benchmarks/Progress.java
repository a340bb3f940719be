package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** Tells which round of which contender runs and about how long the rest takes. */
final class Progress {

    private final PrintStream out;
    private final long startNanos = System.nanoTime();
    private final double expectedSeconds;
    private double doneSeconds;

    Progress(PrintStream out, List<BenchmarkGroup> groups, Form form) {
        this.out = out;
        this.expectedSeconds = groups.stream()
                .mapToDouble(group -> group.contenders(form).size() * form.rounds() * group.expectedSeconds(form))
                .sum();
    }

    void started(Group group, Contender contender, int round, Form form) {
        out.printf("%-24s round %d/%d  %-36s", group.id(), round, form.rounds(), contender.name());
        out.flush();
    }

    void ended(Group group, Sample sample, double expectedSecondsOfRound) {
        doneSeconds += expectedSecondsOfRound;
        double elapsed = Duration.ofNanos(System.nanoTime() - startNanos).toMillis() / 1000.0;
        long left = Math.round(elapsed / doneSeconds * (expectedSeconds - doneSeconds));
        String bytes = Double.isNaN(sample.bytesPerOperation())
                ? ""
                : String.format(Locale.ROOT, "%7.1f B/op", sample.bytesPerOperation());
        out.printf(
                Locale.ROOT,
                "%14.2f %-10s%-14s %d:%02d left%n",
                sample.value(),
                group.unit(),
                bytes,
                left / 60,
                left % 60);
    }
}

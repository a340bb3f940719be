package io.github.reactorratelimit.examples.replay;

import io.github.reactorratelimit.examples.replay.ReplayReport.LimitedKey;
import io.github.reactorratelimit.examples.replay.ReplayReport.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

/** A report as text. */
final class SummaryTable {

    private static final int WIDEST_KEY = 40;

    private SummaryTable() {}

    static String of(ReplayReport report) {
        StringBuilder text = new StringBuilder();
        text.append(line("%,d requests from %s to %s", report.requests(), report.from(), report.to()));
        if (report.unreadable() > 0) {
            text.append(line("%,d lines could not be read and were left out", report.unreadable()));
        }
        if (report.outOfOrder() > 0) {
            text.append(line(
                    "%,d requests were logged after later ones, and count as if they had come with them",
                    report.outOfOrder()));
        }
        table(report, text);
        report.outcomes().forEach(outcome -> whoWasLimited(outcome, text));
        return text.toString();
    }

    private static void table(ReplayReport report, StringBuilder text) {
        int width = widest(report.outcomes().stream().map(Outcome::policy).toList(), "policy");
        String columns = "%-" + width + "s %12s %12s %8s %12s %10s %10s %12s";
        text.append(line(""))
                .append(line(
                        columns,
                        "policy",
                        "allowed",
                        "denied",
                        "denied",
                        "delayed",
                        "p99 wait",
                        "longest",
                        "keys limited"));
        for (Outcome outcome : report.outcomes()) {
            text.append(line(
                    columns,
                    outcome.policy(),
                    number(outcome.allowed()),
                    number(outcome.denied()),
                    String.format(Locale.ROOT, "%.2f %%", 100.0 * outcome.denied() / report.requests()),
                    number(outcome.delayed()),
                    wait(outcome.p99Delay()),
                    wait(outcome.longestDelay()),
                    (outcome.exact() ? "" : "≥ ") + number(outcome.keysLimited())));
        }
    }

    private static void whoWasLimited(Outcome outcome, StringBuilder text) {
        if (outcome.worst().isEmpty()) {
            return;
        }
        String atLeast = outcome.exact() ? "" : ", counts are at least";
        text.append(line("")).append(line("limited most by %s%s", outcome.policy(), atLeast));
        int width = widest(outcome.worst().stream().map(SummaryTable::shown).toList(), "");
        for (LimitedKey key : outcome.worst()) {
            text.append(line(
                    "  %-" + width + "s %12s denied of %12s",
                    shown(key),
                    number(key.denied()),
                    number(key.requests())));
        }
    }

    private static String shown(LimitedKey key) {
        return TerminalText.of(key.key(), WIDEST_KEY);
    }

    private static int widest(List<String> texts, String title) {
        int longest = texts.stream().mapToInt(String::length).max().orElse(1);
        return Math.max(1, Math.max(title.length(), longest));
    }

    private static String wait(Duration wait) {
        if (wait.isZero()) {
            return "–";
        }
        return wait.toSeconds() < 10 ? wait.toMillis() + " ms" : wait.toSeconds() + " s";
    }

    private static String number(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    private static String line(String format, Object... arguments) {
        return String.format(Locale.ROOT, format, arguments) + System.lineSeparator();
    }
}

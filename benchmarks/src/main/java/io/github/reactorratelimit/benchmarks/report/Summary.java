package io.github.reactorratelimit.benchmarks.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/** The short table of the README: one line per group, between two markers that the text around them keeps. */
public final class Summary {

    static final String START = "<!-- benchmarks:start -->";
    static final String END = "<!-- benchmarks:end -->";

    private static final String CHARTS = "docs/benchmarks/";

    private Summary() {}

    /** Renews what stands between the markers; a file without them, or none, is left alone. */
    public static void refresh(Path readme, List<Results> all) throws IOException {
        if (!Files.exists(readme) || all.isEmpty()) {
            return;
        }
        String text = Files.readString(readme, StandardCharsets.UTF_8);
        int start = text.indexOf(START);
        int end = text.indexOf(END);
        if (start < 0 || end < start) {
            return;
        }
        String renewed = text.substring(0, start + START.length()) + "\n" + markdown(all) + text.substring(end);
        Files.writeString(readme, renewed, StandardCharsets.UTF_8);
    }

    static String markdown(List<Results> all) {
        StringBuilder text = new StringBuilder();
        text.append("| | unit | ours | best peer | floor | × best peer | × floor | target |\n");
        text.append("|---|---|--:|--:|--:|--:|--:|---|\n");
        for (Results results : all) {
            if (!results.group().hasLines()) {
                subject(results).ifPresent(ours -> text.append(row(results, ours)));
            }
        }
        text.append('\n').append(runs(all));
        chart(all)
                .ifPresent(group -> text.append("\n![")
                        .append(group.title())
                        .append("](")
                        .append(CHARTS)
                        .append(group.id())
                        .append(".svg)\n"));
        return text.toString();
    }

    /** Whom the targets are about, else the best of ours. */
    private static Optional<Measurement> subject(Results results) {
        return results.group().goals().stream()
                .findFirst()
                .flatMap(goal -> results.of(goal.ours()))
                .or(results::bestOfOurs);
    }

    private static String row(Results results, Measurement ours) {
        Optional<Measurement> floor = results.floorOf(ours);
        return "| "
                + String.join(
                        " | ",
                        results.group().title(),
                        ours.unit(),
                        "**" + Figures.plain(ours.median()) + "**",
                        results.bestPeer().map(Summary::figureAndName).orElse("–"),
                        floor.map(Summary::figureAndName).orElse("–"),
                        ratio(ours, results.bestPeer()),
                        ratio(ours, floor),
                        outcome(results.verdicts()))
                + " |\n";
    }

    private static String figureAndName(Measurement measurement) {
        return Figures.plain(measurement.median()) + " (" + measurement.contender() + ")";
    }

    private static String ratio(Measurement ours, Optional<Measurement> to) {
        return to.map(other -> Figures.ratio(ours.median() / other.median())).orElse("–");
    }

    private static String outcome(List<Verdict> verdicts) {
        if (verdicts.isEmpty()) {
            return "–";
        }
        if (verdicts.stream().anyMatch(verdict -> verdict.outcome() == Verdict.Outcome.NOT_MET)) {
            return "not met";
        }
        boolean all = verdicts.stream().allMatch(verdict -> verdict.outcome() == Verdict.Outcome.MET);
        return all ? "met" : "not measured";
    }

    private static String runs(List<Results> all) {
        TreeSet<String> runs = new TreeSet<>();
        all.forEach(results -> runs.add(results.run().text()));
        return runs.size() == 1
                ? "Run: " + runs.first() + ".\n"
                : "Runs: " + runs.first() + "; and " + (runs.size() - 1) + " more, each beside its table.\n";
    }

    private static Optional<Group> chart(List<Results> all) {
        return all.stream()
                .map(Results::group)
                .filter(group -> group.id().equals("flux-sync"))
                .findFirst();
    }
}

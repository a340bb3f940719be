package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Report;
import io.github.reactorratelimit.benchmarks.report.Round;
import io.github.reactorratelimit.benchmarks.report.Run;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.util.ArrayList;
import java.util.List;

/** Runs groups and keeps their rounds. A group that ran stays in the report even if a later one fails. */
final class Runner {

    private final Report report;
    private final Form form;
    private final Run run;

    Runner(Report report, Form form, Run run) {
        this.report = report;
        this.form = form;
        this.run = run;
    }

    void run(List<BenchmarkGroup> groups) throws Exception {
        Progress progress = new Progress(System.out, groups, form);
        for (BenchmarkGroup group : groups) {
            report.keep(group.group(), run, rounds(group, progress));
            report.write();
        }
    }

    /** Interleaved, so that a machine that slows down for a while slows all down. */
    private List<Round> rounds(BenchmarkGroup group, Progress progress) throws Exception {
        List<Round> rounds = new ArrayList<>();
        try (group) {
            group.open(form);
            for (int number = 1; number <= form.rounds(); number++) {
                for (Contender contender : group.contenders(form)) {
                    progress.started(group.group(), contender, number, form);
                    Sample sample = group.round(contender, form);
                    progress.ended(group.group(), sample, group.expectedSeconds(form));
                    rounds.add(new Round(contender.name(), number, sample));
                }
            }
        }
        return rounds;
    }
}

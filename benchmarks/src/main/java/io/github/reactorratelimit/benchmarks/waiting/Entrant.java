package io.github.reactorratelimit.benchmarks.waiting;

import io.github.reactorratelimit.benchmarks.report.Contender;
import java.util.List;

/** A contender as the report names it, and how it is opened. */
record Entrant(Contender contender, Waiting.Opener opener) {

    static final Entrant OURS = new Entrant(Contender.ours("ours"), Ours::open);

    static final List<Entrant> ALL = List.of(
            OURS,
            new Entrant(Contender.peer("Resilience4j operator"), Resilience4j::open),
            new Entrant(Contender.peer("Bucket4j scheduling"), Bucket4j::open));

    static Entrant of(Contender contender) {
        return ALL.stream()
                .filter(each -> each.contender().series().equals(contender.series()))
                .findFirst()
                .orElseThrow();
    }
}

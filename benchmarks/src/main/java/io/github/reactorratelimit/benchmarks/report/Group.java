package io.github.reactorratelimit.benchmarks.report;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What a group measures and who takes part.
 *
 * @param id short and stable: the word of the command line and the name of its files
 * @param title one line for people
 * @param unit of the values
 * @param better which way they are better
 * @param contenders in the order in which tables and charts show them
 * @param goals what ours shall reach
 * @param note what a reader must know to read the figures right; may be empty
 */
public record Group(
        String id,
        String title,
        String unit,
        Better better,
        List<Contender> contenders,
        List<Goal> goals,
        String note) {

    public Group {
        contenders = List.copyOf(contenders);
        goals = List.copyOf(goals);
        if (!id.matches("[a-z0-9-]+")) {
            throw new IllegalArgumentException("id must consist of small letters, digits and hyphens, was " + id);
        }
        Set<String> names = new HashSet<>();
        for (Contender contender : contenders) {
            if (!names.add(contender.name())) {
                throw new IllegalArgumentException("two contenders of " + id + " are called " + contender.name());
            }
        }
        for (Goal goal : goals) {
            if (!names.contains(goal.ours())) {
                throw new IllegalArgumentException("goal of an unknown contender of " + id + ": " + goal.ours());
            }
        }
    }

    /** Whether the contenders are points of lines. */
    public boolean hasLines() {
        return contenders.stream().anyMatch(contender -> !Double.isNaN(contender.x()));
    }
}

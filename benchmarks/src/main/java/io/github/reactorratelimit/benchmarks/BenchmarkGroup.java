package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.io.IOException;
import java.util.List;

/** A group that can be run. The runner interleaves: for each round, for each contender. */
public interface BenchmarkGroup extends AutoCloseable {

    /** What it measures and who takes part. */
    Group group();

    /** Who takes part in a run of this form; all unless some are too slow for it. */
    default List<Contender> contenders(Form form) {
        return group().contenders();
    }

    /** Called once before the first round, for what all rounds share, such as a server. */
    default void open(Form form) throws Exception {}

    /** Runs one round of one contender. */
    Sample round(Contender contender, Form form) throws Exception;

    /** About how long one round of one contender takes; only the progress shown depends on it. */
    double expectedSeconds(Form form);

    /** Called once after the last round, also after a failure. */
    @Override
    default void close() throws IOException {}
}

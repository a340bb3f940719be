package io.github.reactorratelimit.benchmarks.report;

import java.util.Locale;

/** Which side a contender is on. */
public enum Kind {
    /** This library. */
    OURS,
    /** Another library. */
    PEER,
    /** The least work that anything of this kind must do. */
    FLOOR;

    /** The name as tables and style sheets write it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}

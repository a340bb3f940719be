package io.github.reactorratelimit.benchmarks;

/** Takes part in a benchmark; an enum constant, which JMH passes as the parameter {@code contender}. */
public interface Contender {

    /** Which side a contender is on. */
    enum Kind {
        /** This library. */
        OURS,
        /** Another library. */
        PEER,
        /** The least work that any limiter must do. */
        FLOOR
    }

    /** Its name in JMH's results. */
    String name();

    /** Which side it is on. */
    Kind kind();

    /** Its name in tables and charts. */
    String label();

    /** Whether it also runs with the baseline's jar; false for what that jar may lack. */
    default boolean comparesJars() {
        return kind() == Kind.OURS;
    }
}

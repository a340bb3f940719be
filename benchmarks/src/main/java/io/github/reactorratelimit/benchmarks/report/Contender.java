package io.github.reactorratelimit.benchmarks.report;

/**
 * One that takes part in a group.
 *
 * @param name unique in its group
 * @param kind whose it is
 * @param series the line it belongs to in a line chart; its name where the group has bars
 * @param x where on the line; NaN where the group has bars
 */
public record Contender(String name, Kind kind, String series, double x) {

    /** This library, in one of its forms. */
    public static Contender ours(String name) {
        return new Contender(name, Kind.OURS, name, Double.NaN);
    }

    /** Another library. */
    public static Contender peer(String name) {
        return new Contender(name, Kind.PEER, name, Double.NaN);
    }

    /** The least work. The first floor of a group is the one its ratios refer to. */
    public static Contender floor(String name) {
        return new Contender(name, Kind.FLOOR, name, Double.NaN);
    }

    /** A point of a line: the same series at {@code x}, named with {@code at}. */
    public Contender at(double x, String at) {
        return new Contender(series + ", " + at, kind, series, x);
    }
}

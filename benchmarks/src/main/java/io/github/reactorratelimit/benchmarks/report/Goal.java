package io.github.reactorratelimit.benchmarks.report;

/**
 * A figure that one of ours shall reach. A ratio counts only within the run it was measured in.
 *
 * @param ours the contender that shall reach it
 * @param against what it is compared with
 * @param other the contender it is compared with, or the name of a detail; empty where {@code against} needs none
 * @param bound the ratio or value that may just be reached
 */
public record Goal(String ours, Against against, String other, double bound) {

    /** What a figure is compared with. */
    public enum Against {
        /** The median, divided by the best peer's. */
        BEST_PEER,
        /** The median, divided by that of the contender {@code other}. */
        CONTENDER,
        /** The median itself. */
        VALUE,
        /** The bytes per operation, which shall be at most the bound. */
        BYTES,
        /** The bytes per operation less those of the contender {@code other}, which shall be at most the bound. */
        EXTRA_BYTES,
        /** The detail {@code other}, divided by the best peer's; shall be at most the bound. */
        DETAIL_OF_BEST_PEER,
        /** The detail {@code other} itself; shall be at most the bound. */
        DETAIL
    }

    /** The ratio to the best peer. */
    public static Goal bestPeer(String ours, double ratio) {
        return new Goal(ours, Against.BEST_PEER, "", ratio);
    }

    /** The ratio to a certain contender, such as a floor. */
    public static Goal contender(String ours, String other, double ratio) {
        return new Goal(ours, Against.CONTENDER, other, ratio);
    }

    /** A value in the group's unit. */
    public static Goal value(String ours, double value) {
        return new Goal(ours, Against.VALUE, "", value);
    }

    /** At most so many bytes per operation. */
    public static Goal bytes(String ours, double bytes) {
        return new Goal(ours, Against.BYTES, "", bytes);
    }

    /** At most so many bytes per operation more than another contender. */
    public static Goal extraBytes(String ours, String other, double bytes) {
        return new Goal(ours, Against.EXTRA_BYTES, other, bytes);
    }

    /** A detail, such as a percentile, at most so many times that of the best peer by value. */
    public static Goal detailOfBestPeer(String ours, String detail, double ratio) {
        return new Goal(ours, Against.DETAIL_OF_BEST_PEER, detail, ratio);
    }

    /** A detail at most so high. */
    public static Goal detail(String ours, String detail, double bound) {
        return new Goal(ours, Against.DETAIL, detail, bound);
    }

    String text(Group group) {
        String sign = group.better().sign();
        String figure = Figures.plain(bound);
        return ours + " "
                + switch (against) {
                    case BEST_PEER -> sign + " " + figure + " × best peer";
                    case CONTENDER -> sign + " " + figure + " × " + other;
                    case VALUE -> sign + " " + figure + " " + group.unit();
                    case BYTES -> "≤ " + figure + " B/op";
                    case EXTRA_BYTES -> "≤ " + figure + " B/op more than " + other;
                    case DETAIL_OF_BEST_PEER -> other + " ≤ " + figure + " × the best peer's";
                    case DETAIL -> other + " ≤ " + figure;
                };
    }
}
